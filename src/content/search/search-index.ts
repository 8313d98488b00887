import type { Static } from 'typebox'
import { parseJson } from '../../lib/schema/parse-json.ts'
import { Type } from '../../lib/schema/type.ts'
import { isKey } from '../store/store.ts'

/** File with the text of the pages of a repository or version. */
export const INDEX_FILE = '_search.json'

/** Version of the file's format; other versions are not read. */
const FORMAT = 2
/** The whole file is JSON; each page has its own line, so that it can be read in parts. */
const BEGIN = `{"format":${FORMAT},"pages":[`
const END = ']}'

const pageSchema = Type.Object({
  /** Path relative to the index's folder. */
  path: Type.String(),
  title: Type.String(),
  text: Type.String(),
  /** Starts of sections in the text, and the ids of their headings. */
  sections: Type.Array(Type.Object({ at: Type.Integer({ minimum: 0 }), anchor: Type.String() })),
})

/** A page in the search index. */
export type IndexedPage = Readonly<Static<typeof pageSchema>>

/** Yields the stored form of an index. */
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

/** Content of a line of a stored index. */
export type IndexLine =
  | { readonly is: 'begin' | 'end' }
  | { readonly is: 'page'; readonly page: IndexedPage }
  /** The first line of an index of an earlier version, which contains no text. */
  | { readonly is: 'old' }
  | { readonly is: 'unreadable' }

/** Parses a line of a stored index. */
export function parseIndexLine(line: string): IndexLine {
  if (line === BEGIN) return { is: 'begin' }
  if (line === END) return { is: 'end' }
  if (line.startsWith('{"format":1,')) return { is: 'old' }
  const page = parseJson(pageSchema, line.startsWith(',') ? line.slice(1) : line)
  return page !== undefined && isKey(page.path) ? { is: 'page', page } : { is: 'unreadable' }
}
