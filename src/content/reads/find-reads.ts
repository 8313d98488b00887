import { createReadStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { ignoreMissing } from '../../lib/fs/ignore-missing.ts'
import { parseJson } from '../../lib/schema/parse-json.ts'
import { type ReadRecord, readRecordSchema } from './read-record.ts'

/** Selects records; a missing field selects all. */
export interface ReadFilter {
  readonly sinceMs?: number | undefined
  readonly repo?: string | undefined
  readonly user?: string | undefined
  readonly token?: string | undefined
}

/**
 * Yields the selected records of a log, oldest file first. Damaged lines are left out.
 *
 * @throws Error when the log cannot be read
 */
export async function* findReads(file: string, filter: ReadFilter): AsyncGenerator<ReadRecord> {
  for (const each of await filesOf(file)) {
    const lines = createInterface({ input: createReadStream(each, 'utf8'), crlfDelay: Infinity })
    for await (const line of lines) {
      const record = parseJson(readRecordSchema, line)
      if (record !== undefined && isSelected(record, filter)) yield record
    }
  }
}

async function filesOf(file: string): Promise<readonly string[]> {
  const names = (await readdir(dirname(file)).catch(ignoreMissing)) ?? []
  const rotated = names
    .filter((name) => name.startsWith(`${basename(file)}.`))
    .map((name) => Number(name.slice(basename(file).length + 1)))
    .filter((index) => Number.isInteger(index) && index > 0)
    .toSorted((a, b) => b - a)
    .map((index) => `${file}.${index}`)
  return names.includes(basename(file)) ? [...rotated, join(dirname(file), basename(file))] : rotated
}

function isSelected(record: ReadRecord, { sinceMs, repo, user, token }: ReadFilter): boolean {
  return (
    (sinceMs === undefined || Date.parse(record.time) >= sinceMs) &&
    (repo === undefined || record.repo === repo) &&
    (user === undefined || record.user === user) &&
    (token === undefined || record.token === token)
  )
}
