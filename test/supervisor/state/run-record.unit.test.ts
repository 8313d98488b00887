import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/lib/clock/clock.ts'
import { RunRecord } from '../../../src/supervisor/state/run-record.ts'
import { tempDir } from '../../support/temp-dir.ts'

test('a record that cannot be read has a warning, and a missing one has none', async () => {
  const directory = tempDir()
  const warnings: string[] = []
  const record = (file: string) => new RunRecord(file, systemClock, (message) => warnings.push(message))
  expect(await record(join(directory, 'runs.json')).read()).toEqual([])
  expect(warnings).toEqual([])
  expect(await record(directory).read()).toEqual([])
  expect(warnings).toEqual([expect.stringMatching(/cannot be read: EISDIR.*cannot be taken over$/)])
})
