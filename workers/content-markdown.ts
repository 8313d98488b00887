import type { MarkdownTask } from '../src/content/markdown/markdown-pages.ts'
import { type MarkdownPage, toMarkdown } from '../src/content/markdown/to-markdown.ts'
import { decode } from '../src/content/page/decode-text.ts'

/** Converts an HTML page to Markdown. */
export default function contentMarkdown({ bytes, charset }: MarkdownTask): MarkdownPage {
  return toMarkdown(decode(bytes, charset))
}
