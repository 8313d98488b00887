import { readFile } from 'node:fs/promises'
import { messageOf } from '../../lib/errors/message.ts'
import { writeFileDurable } from '../../lib/fs/write-durable.ts'
import { restoreExtents, saveExtents, walkTrees } from '../../native/files/disk.ts'
import type { WalkOptions, WalkReport } from '../../native/files/disk.ts'

/** Files that this process has read. */
const restored = new Set<string>()

/** Result of `walkTreesAgain`. */
export interface RepeatedWalk {
  readonly report: WalkReport
  /** Why extents could not be read or saved: the report is complete, but a later one takes longer. */
  readonly problems: readonly string[]
}

/**
 * Like `walkTrees`, and remembers extents across processes in a file of at most 128 MiB.
 *
 * @throws as walkTrees
 */
export async function walkTreesAgain(
  paths: readonly string[],
  extentsFile: string,
  options: WalkOptions & { readonly rememberAt: Date },
): Promise<RepeatedWalk> {
  const problems: string[] = []
  if (!restored.has(extentsFile)) problems.push(...(await restoreFrom(extentsFile)))
  restored.add(extentsFile)
  const report = await walkTrees(paths, options)
  problems.push(...(await saveTo(extentsFile, options.rememberAt)))
  return { report, problems }
}

async function restoreFrom(file: string): Promise<readonly string[]> {
  try {
    return restoreExtents(await readFile(file)) ? [] : [`${file} is damaged`]
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? [] : [messageOf(error)]
  }
}

async function saveTo(file: string, now: Date): Promise<readonly string[]> {
  const saved = saveExtents(now)
  if (saved === undefined) return []
  try {
    await writeFileDurable(file, saved, { mode: 0o600 })
    return []
  } catch (error) {
    return [messageOf(error)]
  }
}
