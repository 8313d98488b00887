import type { FileChange } from '../../query/impact/class-change.ts'

/** Constants of constants are followed this far. */
const MAX_ROUNDS = 10

/**
 * Asks what can notice changes of source files since a git revision. Class files do not name the constants that
 * the compiler copies: lines that name one which may have changed are added until there are no more.
 *
 * @throws BAD_REQUEST when the revision cannot be read
 */
export async function askSince<Answer extends { readonly constants: readonly string[] }>(
  root: string,
  revision: string,
  ask: (files: readonly FileChange[]) => Promise<Answer>,
): Promise<Answer> {
  const { constantUses, sourceChanges } = await import('../../changes/source-changes.ts')
  let { files } = await sourceChanges(root, revision)
  let answer = await ask(files)
  let names = answer.constants
  for (let round = 0; names.length > 0 && round < MAX_ROUNDS; round++) {
    const known = new Set(answer.constants)
    files = merged(files, constantUses(root, names))
    answer = await ask(files)
    names = answer.constants.filter((name) => !known.has(name))
  }
  return answer
}

/** Adds changed lines to those of the same files. */
function merged(files: readonly FileChange[], more: readonly FileChange[]): readonly FileChange[] {
  const byPath = new Map(files.map((file) => [file.path, file]))
  for (const { path, lines } of more) {
    const before = byPath.get(path)
    if (before === undefined) byPath.set(path, { path, lines })
    else if (before.lines !== undefined)
      byPath.set(path, { ...before, lines: [...before.lines, ...(lines ?? [])] })
  }
  return [...byPath.values()]
}
