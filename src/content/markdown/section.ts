/** Prefixes of lists and quotes. */
const PREFIX = /^(?:> |- |\d{1,9}\. | )*/
const HEADING = /^(#{1,6}) .*?(?: \{#([^\s{}]+)\})?$/

interface Heading {
  readonly line: number
  readonly level: number
  readonly anchor: string | undefined
}

/** A section of a page, or the anchors of all sections if it has none with the name. */
export type FoundSection = { readonly text: string } | { readonly anchors: readonly string[] }

/** Returns a section of a page that `toMarkdown` has written, with the sections below it. */
export function sectionOf(markdown: string, anchor: string): FoundSection {
  const lines = markdown.split('\n')
  const headings = headingsIn(lines)
  const at = headings.findIndex((heading) => heading.anchor === anchor)
  const heading = headings[at]
  if (heading === undefined) return { anchors: headings.flatMap((each) => each.anchor ?? []) }
  const next = headings.find(({ level }, index) => index > at && level <= heading.level)
  return { text: `${lines.slice(heading.line, next?.line).join('\n').trimEnd()}\n` }
}

function headingsIn(lines: readonly string[]): readonly Heading[] {
  const headings: Heading[] = []
  let fence: string | undefined
  for (const [line, whole] of lines.entries()) {
    const text = whole.replace(PREFIX, '')
    const [mark] = /^`{3,}/.exec(text) ?? []
    if (fence !== undefined) {
      if (text === fence) fence = undefined
      continue
    }
    fence = mark
    const [, hashes, anchor] = HEADING.exec(text) ?? []
    if (hashes !== undefined) headings.push({ line, level: hashes.length, anchor })
  }
  return headings
}
