import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { EntryReader } from '../../../src/workspace/audit/entry-reader.ts'
import { tempDir } from '../../support/temp-dir.ts'

/** Reads all lines; a rotation may end one call, as an exporter that is woken again knows. */
async function readAll(reader: EntryReader, lines: readonly string[]): Promise<readonly string[]> {
  const found = await reader.next(10).catch(() => undefined)
  if (found !== undefined) reader.advance(found)
  const all = [...lines, ...(found?.lines ?? [])]
  return all.at(-1) === 'last' || lines.length > 3 ? all : readAll(reader, all)
}

test('a rotation at any moment of a read leaves out no line', async () => {
  for (let ticks = 0; ticks < 100; ticks++) {
    const file = join(tempDir(), 'audit')
    writeFileSync(file, 'first\nsecond\n')
    const reader = new EntryReader(file)
    onTestFinished(() => reader.close())
    const reading = readAll(reader, [])
    for (let tick = 0; tick < ticks; tick++) await setImmediate()
    renameSync(file, `${file}.1`)
    writeFileSync(file, 'last\n')
    expect(await reading).toEqual(['first', 'second', 'last'])
  }
})
