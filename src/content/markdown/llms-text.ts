import { escapeTitle, linkTo } from './escape.ts'

/** An entry of a list. */
export interface LlmsEntry {
  readonly title: string
  /** Address on the requested host. */
  readonly url: string
  readonly description?: string | undefined
}

/** Entries below a heading. */
export interface LlmsSection {
  readonly heading: string
  readonly entries: readonly LlmsEntry[]
}

/** Content of an `llms.txt`. */
export interface LlmsContent {
  readonly title: string
  readonly description?: string | undefined
  /** Paragraphs in Markdown. */
  readonly notes: readonly string[]
  readonly sections: readonly LlmsSection[]
  /** Number of further entries that are not given here. */
  readonly more: number
  /** Sentence in Markdown that describes where to find what is left out. */
  readonly hint: string
}

const MAX_LENGTH = 250_000
const MAX_TITLE = 200
const MAX_DESCRIPTION = 500

/** Formats an `llms.txt` of limited length (llmstxt.org), with the number of entries that it leaves out. */
export function formatLlms({ title, description, notes, sections, more, hint }: LlmsContent): string {
  const parts = [`# ${escaped(title, MAX_TITLE)}`]
  if (description !== undefined) parts.push(`> ${escaped(description, MAX_DESCRIPTION)}`)
  parts.push(...notes)
  let left = MAX_LENGTH - parts.join('').length
  let omitted = more
  for (const { heading, entries } of sections) {
    const lines: string[] = []
    for (const entry of entries) {
      const line = lineOf(entry)
      left -= line.length + 1
      if (left < 0) omitted++
      else lines.push(line)
    }
    if (lines.length > 0) parts.push(`## ${escaped(heading, MAX_TITLE)}`, lines.join('\n'))
  }
  if (omitted > 0)
    parts.push(`${omitted} more ${omitted === 1 ? 'entry is' : 'entries are'} left out. ${hint}`)
  return `${parts.join('\n\n')}\n`
}

function lineOf({ title, url, description }: LlmsEntry): string {
  const about = description === undefined ? '' : `: ${escaped(description, MAX_DESCRIPTION)}`
  return `- [${escaped(title, MAX_TITLE)}](${linkTo(url, undefined) ?? ''})${about}`
}

function escaped(text: string, maxLength: number): string {
  return escapeTitle(text.length > maxLength ? `${text.slice(0, maxLength)} …` : text)
}
