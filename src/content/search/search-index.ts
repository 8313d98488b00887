import MiniSearch, { type AsPlainObject, type Options } from 'minisearch'
import { parseJson } from '../../lib/schema/parse-json.ts'
import { Type } from '../../lib/schema/type.ts'

/** Where a repository, or a version of it, keeps its index. */
export const INDEX_FILE = '_search.json'

/** One page of a repository, as it is searched. */
export interface IndexedPage {
  /** Below the index's own folder. */
  readonly path: string
  readonly title: string
  readonly text: string
}

interface Stored extends IndexedPage {
  readonly id: string
  readonly excerpt: string
}

export type SearchIndex = MiniSearch<Stored>

const EXCERPT = 240
/** A file of another number was made in another way, and is not read. */
const FORMAT = 1

const storedSchema = Type.Object({
  format: Type.Literal(FORMAT),
  /** Checked by the library that made it. */
  index: Type.Unsafe<AsPlainObject>({ type: 'object' }),
})

const OPTIONS: Options<Stored> = {
  fields: ['title', 'text'],
  storeFields: ['path', 'title', 'excerpt'],
  searchOptions: { boost: { title: 3 }, prefix: true, fuzzy: 0.15, combineWith: 'AND' },
}

/** The index of pages, as it is stored. */
export function buildIndex(pages: readonly IndexedPage[]): Buffer {
  const index: SearchIndex = new MiniSearch(OPTIONS)
  index.addAll(pages.map((page) => ({ ...page, id: page.path, excerpt: page.text.slice(0, EXCERPT) })))
  return Buffer.from(JSON.stringify({ format: FORMAT, index }))
}

/** Reads a stored index; undefined for what is none. */
export function parseIndex(bytes: Uint8Array): SearchIndex | undefined {
  try {
    const stored = parseJson(storedSchema, Buffer.from(bytes).toString())
    return stored && MiniSearch.loadJS(stored.index, OPTIONS)
  } catch {
    return undefined
  }
}
