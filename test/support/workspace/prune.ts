import { call, type TestServer } from './workspace-server.ts'

/** Asks a server to prune; its answer's body. */
export async function prune(server: TestServer, query = '') {
  return (await call(`${server.url}/api/system/prune?${query}`, 'POST')).body
}

export const names = (rows: readonly { readonly name: string }[]): readonly string[] =>
  rows.map(({ name }) => name).toSorted()

/** Why something was left, by its name. */
export const reasonOf = (body: any, name: string, kind?: string): string | undefined =>
  body.skipped.find((each: any) => each.name === name && (kind ?? each.kind) === each.kind)?.reason

/** Of a machine that goes by itself. */
export const OLD = { ageMs: 100 * 3_600_000 }
