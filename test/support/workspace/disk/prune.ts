import { type TestServer } from '../server/test-server.ts'

/** Sends a prune request and returns the response body. */
export async function prune(server: TestServer, query = '') {
  return (await server.api(`system/prune?${query}`, 'POST')).body
}

/** Returns the names of rows, sorted. */
export const names = (rows: readonly { readonly name: string }[]): readonly string[] =>
  rows.map(({ name }) => name).toSorted()

/** Returns why an item was skipped, by its name. */
export const reasonOf = (body: any, name: string, kind?: string): string | undefined =>
  body.skipped.find((each: any) => each.name === name && (kind ?? each.kind) === each.kind)?.reason

/** Options of a VM old enough to be pruned. */
export const OLD = { ageMs: 100 * 3_600_000 }
