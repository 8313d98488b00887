import {
  type FoundPages,
  type IndexedSource,
  type ListedPages,
  isDamage,
  removeDatabase,
  SearchDatabase,
} from './search-database.ts'

/** Requests to the search's threads. */
export type SearchRequest =
  | { readonly do: 'list' }
  | { readonly do: 'replace'; readonly key: string; readonly etag: string; readonly from: string }
  | { readonly do: 'forget'; readonly keys: readonly string[] }
  | { readonly do: 'pages'; readonly key: string; readonly limit: number; readonly offset: number }
  | {
      readonly do: 'find'
      readonly keys: readonly string[]
      readonly query: string
      readonly limit: number
      readonly offset: number
    }

/** A request with its database file. */
export type SearchTask = SearchRequest & { readonly file: string; readonly maxBytes: number }

/** Responses by kind of request. */
export interface SearchResponses {
  readonly list: readonly IndexedSource[]
  readonly replace: IndexedSource
  readonly forget: undefined
  readonly find: FoundPages
  readonly pages: ListedPages | undefined
}

/** Files open in this thread; a server has one. */
const open = new Map<string, SearchDatabase>()

/**
 * Runs a task in a thread of the search's pool. A damaged file is deleted, and its content is read from the store
 * again.
 */
export async function runSearchTask(task: SearchTask): Promise<SearchResponses[SearchRequest['do']]> {
  try {
    return await run(task)
  } catch (error) {
    if (!isDamage(error)) throw error
    open.get(task.file)?.close()
    open.delete(task.file)
    removeDatabase(task.file)
    return run(task)
  }
}

function run(task: SearchTask): SearchResponses[SearchRequest['do']] | Promise<IndexedSource> {
  const { file, maxBytes } = task
  const database = open.get(file) ?? SearchDatabase.open(file, maxBytes)
  open.set(file, database)
  if (task.do === 'list') return database.sources()
  if (task.do === 'replace') return database.replace(task.key, task.etag, task.from)
  if (task.do === 'find') return database.find(task.keys, task.query, task.limit, task.offset)
  if (task.do === 'pages') return database.pages(task.key, task.limit, task.offset)
  database.forget(task.keys)
  return undefined
}
