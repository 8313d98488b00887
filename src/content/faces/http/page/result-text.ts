// Text about search results, which the server and the page's script share.

import { foldWord } from '../../../search/fold.ts'

const NAMED = 3
const REASONS: Readonly<Record<string, string>> = {
  no_index: 'has no search index',
  old_format: 'was published by an earlier version; publish it again',
  unreadable: 'has a damaged search index; publish it again',
  indexing: 'is being indexed; try again in a moment',
  unavailable: 'is unavailable',
}

/** Part of an excerpt. */
export interface Piece {
  readonly text: string
  readonly isMarked: boolean
}

/** Returns the sentence about which hits are shown, and of how many. */
export function resultText(shown: number, offset: number, total: number): string {
  if (total === 0) return 'No results. Try fewer or different words.'
  if (shown === 0) return `${total.toLocaleString('en')} pages match.`
  const pages = total === 1 ? 'page' : 'pages'
  if (shown === total) return `${total} ${pages}`
  return `${offset + 1} to ${offset + shown} of ${total.toLocaleString('en')} ${pages}`
}

/** Returns the sentence about which repositories are listed. */
export function reposText(shown: number, total: number): string {
  if (total === 0) return 'Nothing is published yet.'
  const all = total === 1 ? '1 repository' : `${total} repositories`
  return shown === total ? all : `${shown} of ${all}`
}

/** Whether a text about a repository contains all words of a search, folded as the search folds them. */
export function matchesWords(text: string, words: string): boolean {
  const wanted = words.split(/\s+/).map(foldWord)
  if (wanted.every((word) => word === '')) return true
  const folded = foldWord(text)
  return wanted.every((word) => folded.includes(word))
}

/** Returns the sentence about repositories that were not searched, and why; '' if there are none. */
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

/** Splits an excerpt into matches and the text between them. */
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
