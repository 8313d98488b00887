import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { createLogger } from '../../../src/lib/log/logger.ts'
import { createPortableLogStore } from '../../../src/supervisor/log/portable-log-store.ts'
import { ProcessLogs } from '../../../src/supervisor/log/process-logs.ts'
import { watchLostLines } from '../../../src/supervisor/log/watch-lost-lines.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { processSpec } from '../../support/supervisor/process-spec.ts'
import { tempDir } from '../../support/temp-dir.ts'

test('lost lines are reported once, and so is the recovery', async () => {
  const store = createPortableLogStore()
  onTestFinished(() => store.close())
  const logs = new ProcessLogs(store)
  const dir = join(tempDir(), 'later')
  const source = logs.open('web', {
    ...processSpec('web').log,
    file: join(dir, 'web.log'),
    maxFileBytes: 2 ** 20,
  })
  const destination = new PassThrough()
  const clock = new FakeClock()
  const logger = createLogger({ level: 'info', format: 'json', destination })
  onTestFinished(watchLostLines(logs, clock, logger))
  const print = async (text: string): Promise<void> => {
    const through = new PassThrough()
    source.attach(0, through)
    through.end(text)
    await new Promise((resolve) => through.once('close', resolve))
    await clock.pass(2_000)
  }
  for (const text of ['one\n', 'two\n', 'three\n']) await print(text)
  mkdirSync(dir)
  for (const text of ['four\n', 'five\n']) await print(text)
  const said = String(destination.read()).trimEnd().split('\n')
  expect(said.map((line) => JSON.parse(line))).toMatchObject([
    { level: 40, process: 'web', lostBytes: 4 },
    { level: 30, process: 'web', lostBytes: 14 },
  ])
})
