import { lstat, readFile } from 'node:fs/promises'
import { uptime } from 'node:os'
import { readHostBoot } from './host-boot.ts'
import type { Static } from 'typebox'
import { parseJson } from '../../../../lib/schema/parse-json.ts'
import { Type } from '../../../../lib/schema/type.ts'

/** The file that marks a directory as being made. */
export const CREATING = '.creating'

/** What the file says: when it was written, by a clock that nobody sets. */
const markSchema = Type.Object({ hostBoot: Type.String(), uptimeMs: Type.Unsafe<number>({ type: 'number' }) })
type Mark = Static<typeof markSchema>

export async function creationMark(): Promise<string> {
  return JSON.stringify({ hostBoot: await readHostBoot(), uptimeMs: uptime() * 1_000 } satisfies Mark)
}

/**
 * How old a directory's mark is, in milliseconds; undefined where there is none. By the file's time and, where this host has not
 * been started anew since, by the mark itself, whichever is younger: a clock that was set ahead makes nothing old (threat P5).
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
  // A time to come is a clock that was set.
  const ageMs = Math.max(0, fileAgeMs)
  try {
    const mark = parseJson(markSchema, await readFile(path, 'utf8'))
    if (mark === undefined || mark.hostBoot !== (await readHostBoot())) return ageMs
    return Math.min(ageMs, Math.max(0, uptime() * 1_000 - mark.uptimeMs))
  } catch {
    return ageMs
  }
}
