import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ignoreMissing } from './ignore-missing.ts'
import { writeFileDurable } from './write-durable.ts'

/** Makes a directory of one format one of the next; done again after it was broken off, it does the rest. */
export type Migration = (directory: string) => Promise<void>

const FILE = 'format'

/**
 * Holds the format of a directory, which its file `format` says, against the one that this program knows: 1, and one more
 * for each migration. One without that file is of format 1. An older directory is migrated, step by step; one of a newer
 * program is left as it is, and an error says which it was.
 */
export async function bringToFormat(directory: string, migrations: readonly Migration[] = []): Promise<void> {
  const file = join(directory, FILE)
  const known = migrations.length + 1
  const text = await readFile(file, 'utf8').catch(ignoreMissing)
  const found = text === undefined ? 1 : Number(/^([1-9]\d{0,8})\n$/.exec(text)?.[1])
  if (Number.isNaN(found)) throw new Error(`${file} is damaged: it should hold a number; restore it`)
  if (found > known) {
    throw new Error(
      `${file} says format ${found}, and this program knows formats up to ${known}: a newer version wrote it, use that one`,
    )
  }
  if (text === undefined) await writeFormat(file, found)
  for (let format = found; format < known; format++) {
    await migrations[format - 1]?.(directory)
    await writeFormat(file, format + 1)
  }
}

function writeFormat(file: string, format: number): Promise<void> {
  return writeFileDurable(file, `${format}\n`, { mode: 0o600 })
}
