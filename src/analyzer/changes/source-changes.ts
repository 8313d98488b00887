import { existsSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { fault } from '../errors.ts'
import { listSourceFiles } from '../project/source-files.ts'
import type { FileChange } from '../query/impact/class-change.ts'
import { changedLines } from './changed-lines.ts'
import { codeLines } from './java-code.ts'
import { GitTree, gitIdOf } from './git-tree.ts'

/** Maximum size of a source file whose lines are compared. */
const MAX_BYTES = 2 ** 22
const SOURCE = /\.(?:java|kts?|groovy|scala)$/

/** Source files that differ from a revision. */
export interface SourceChanges {
  readonly files: readonly FileChange[]
}

/**
 * Compares a project's source files with a revision of its git repository, including files that are not
 * committed.
 *
 * @throws BAD_REQUEST when the revision cannot be read
 */
export async function sourceChanges(root: string, revision: string): Promise<SourceChanges> {
  const tree = await GitTree.read(root, revision)
  const present = new Set<string>()
  /** In the order of the list; undefined while, or because, no lines differ. */
  const found = new Map<string, FileChange | undefined>()
  const compared: string[] = []
  for (const file of listSourceFiles(root)) {
    const path = file.replaceAll(sep, '/')
    present.add(path)
    const bytes = readFileSync(join(root, file))
    const id = tree.files.get(path)
    if (id === undefined) found.set(path, { path })
    else if (gitIdOf(bytes, id) !== id) {
      const isCompared = bytes.length <= MAX_BYTES
      found.set(path, isCompared ? undefined : { path })
      if (isCompared) compared.push(path)
    }
  }
  for await (const [path, old] of tree.textsOf(compared, MAX_BYTES)) {
    const lines = old === undefined ? undefined : changedLines(path, old, read(join(root, path)))
    if (lines === undefined || lines.length > 0) found.set(path, { path, lines })
  }
  const files = [...found.values()].filter((change) => change !== undefined)
  for (const path of tree.files.keys())
    if (SOURCE.test(path) && !present.has(path) && !existsSync(join(root, path)))
      files.push({ path, isRemoved: true })
  return { files }
}

/**
 * Returns the lines of Java files that name constants, as changes: the compiler copies constants, so that the
 * class files of their users do not name them.
 *
 * @throws BAD_REQUEST for a file that cannot be read
 */
export function constantUses(root: string, names: readonly string[]): readonly FileChange[] {
  const wanted = new Set(names)
  return listSourceFiles(root).flatMap((file): readonly FileChange[] => {
    const lines = codeLines(read(join(root, file))).flatMap((line, at) => {
      if (line.startsWith('import ')) return []
      const isNamed = line.match(/[\p{L}_$][\p{L}\p{N}_$]*/gu)?.some((word) => wanted.has(word))
      return isNamed === true ? [[at + 1, at + 1] as const] : []
    })
    return lines.length === 0 ? [] : [{ path: file.replaceAll(sep, '/'), lines }]
  })
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw fault('BAD_REQUEST', `${path} cannot be read`, error)
  }
}
