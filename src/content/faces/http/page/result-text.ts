/** The home page's sentence about the results of a search; the server and the browser both write it. */

const NAMED = 3
const REASONS: Readonly<Record<string, string>> = {
  no_index: 'has no search index',
  old_format: 'was published by an earlier version; publish it again',
  unreadable: 'has a damaged search index; publish it again',
  indexing: 'is being read; try again in a moment',
  unavailable: 'cannot be read now',
}

export interface Piece {
  readonly text: string
  readonly isMarked: boolean
}

/** How many hits are shown, of how many. */
export function resultText(shown: number, offset: number, total: number): string {
  if (total === 0) return 'No page has these words. Try fewer or other ones.'
  if (shown === 0) return `There are ${total.toLocaleString('en')} pages in all.`
  const pages = total === 1 ? 'page' : 'pages'
  return `${offset + 1} to ${offset + shown} of ${total.toLocaleString('en')} ${pages}`
}

/** Which repositories were not searched, and why; '' where all were. */
export function unsearchedText(
  unsearched: readonly {
    readonly repo: string
    readonly version?: string | undefined
    readonly reason: string
  }[],
): string {
  if (unsearched.length === 0) return ''
  const named = unsearched
    .slice(0, NAMED)
    .map(
      ({ repo, version, reason }) =>
        `${[repo, version ?? []].flat().join(' ')} (${REASONS[reason] ?? reason})`,
    )
  const others = unsearched.length - named.length
  return `Not searched: ${named.join(', ')}${others === 0 ? '' : ` and ${others} more`}.`
}

/** Takes an excerpt apart into what was found and what is between. */
export function splitMarks(text: string, marks: readonly (readonly number[])[]): readonly Piece[] {
  const pieces: Piece[] = []
  let at = 0
  for (const [begin = 0, end = 0] of marks) {
    pieces.push(
      { text: text.slice(at, begin), isMarked: false },
      { text: text.slice(begin, end), isMarked: true },
    )
    at = end
  }
  return [...pieces, { text: text.slice(at), isMarked: false }]
}
