import type { Static } from 'typebox'
import { parseJson } from '../../lib/schema/parse-json.ts'
import { Type } from '../../lib/schema/type.ts'
import { isKey } from '../store/store.ts'

/** Where a repository, or a version of it, keeps the text of its pages. */
export const INDEX_FILE = '_search.json'

/** A file of another number was made in another way, and is not read. */
const FORMAT = 2
/** A whole file is JSON; each page is on its own line, so that nobody has to read it at once. */
const BEGIN = `{"format":${FORMAT},"pages":[`
const END = ']}'

const pageSchema = Type.Object({
  /** Below the index's own folder. */
  path: Type.String(),
  title: Type.String(),
  text: Type.String(),
  /** Where sections begin in the text, and the ids of their headings. */
  sections: Type.Array(Type.Object({ at: Type.Integer({ minimum: 0 }), anchor: Type.String() })),
})

/** One page of a repository, as it is searched. */
export type IndexedPage = Readonly<Static<typeof pageSchema>>

/** The index of pages, as it is stored. */
export async function* formatIndex(
  pages: Iterable<IndexedPage> | AsyncIterable<IndexedPage>,
): AsyncGenerator<string> {
  yield `${BEGIN}\n`
  let comma = ''
  for await (const { path, title, text, sections } of pages) {
    yield `${comma}${JSON.stringify({ path, title, text, sections })}\n`
    comma = ','
  }
  yield `${END}\n`
}

/** What a line of a stored index is. */
export type IndexLine =
  | { readonly is: 'begin' | 'end' }
  | { readonly is: 'page'; readonly page: IndexedPage }
  /** The first line of an index by an earlier version, which has no text. */
  | { readonly is: 'old' }
  | { readonly is: 'unreadable' }

export function parseIndexLine(line: string): IndexLine {
  if (line === BEGIN) return { is: 'begin' }
  if (line === END) return { is: 'end' }
  if (line.startsWith('{"format":1,')) return { is: 'old' }
  const page = parseJson(pageSchema, line.startsWith(',') ? line.slice(1) : line)
  return page !== undefined && isKey(page.path) ? { is: 'page', page } : { is: 'unreadable' }
}
