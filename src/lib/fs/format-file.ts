import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ignoreMissing } from './ignore-missing.ts'
import { writeFileDurable } from './write-durable.ts'

/** Migrates a directory to the next format. Running it again after an interruption completes it. */
export type Migration = (directory: string) => Promise<void>

const FILE = 'format'

/**
 * Compares a directory's format, recorded in its file `format`, with the program's: 1 plus the number of migrations. A directory
 * without that file has format 1. An older directory is migrated step by step; a newer one is left unchanged with an
 * error that names its format.
 */
export async function bringToFormat(directory: string, migrations: readonly Migration[] = []): Promise<void> {
  const file = join(directory, FILE)
  const known = migrations.length + 1
  const text = await readFile(file, 'utf8').catch(ignoreMissing)
  const found = text === undefined ? 1 : Number(/^([1-9]\d{0,8})\n$/.exec(text)?.[1])
  if (Number.isNaN(found)) throw new Error(`${file} is damaged: it must contain a number; restore it`)
  if (found > known) {
    throw new Error(
      `${file} has format ${found}, but this program supports up to ${known}: use the newer version that wrote it`,
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
