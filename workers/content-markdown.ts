import { type MarkdownPage, toMarkdown } from '../src/content/markdown/to-markdown.ts'

/** Converts an HTML page in UTF-8 to Markdown. */
export default function contentMarkdown(page: Uint8Array): MarkdownPage {
  return toMarkdown(new TextDecoder().decode(page))
}
