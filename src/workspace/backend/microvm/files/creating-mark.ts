import { lstat, readFile } from 'node:fs/promises'
import { uptime } from 'node:os'
import { readHostBoot } from './host-boot.ts'
import type { Static } from 'typebox'
import { parseJson } from '../../../../lib/schema/parse-json.ts'
import { Type } from '../../../../lib/schema/type.ts'

/** Name of the file that marks a directory as being created. */
export const CREATING = '.creating'

/** Content of the mark: when it was written, by a clock that cannot be set. */
const markSchema = Type.Object({ hostBoot: Type.String(), uptimeMs: Type.Unsafe<number>({ type: 'number' }) })
type Mark = Static<typeof markSchema>

/** Returns the content of a new mark. */
export async function creationMark(): Promise<string> {
  return JSON.stringify({ hostBoot: await readHostBoot(), uptimeMs: uptime() * 1_000 } satisfies Mark)
}

/**
 * Returns the age of a directory's mark in milliseconds, or undefined without one. It is the smaller of the
 * file's age and, unless this host has rebooted since, the mark's own: setting the clock forward never makes
 * a mark old (threat P5).
 */
export async function creationMarkAgeMs(path: string, now: Date): Promise<number | undefined> {
  let fileAgeMs: number
  try {
    fileAgeMs = now.getTime() - (await lstat(path)).mtimeMs
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
  // A time in the future means the clock was set back.
  const ageMs = Math.max(0, fileAgeMs)
  try {
    const mark = parseJson(markSchema, await readFile(path, 'utf8'))
    if (mark === undefined || mark.hostBoot !== (await readHostBoot())) return ageMs
    return Math.min(ageMs, Math.max(0, uptime() * 1_000 - mark.uptimeMs))
  } catch {
    return ageMs
  }
}
