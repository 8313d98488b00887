import { readFileSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { createNativeLogStore } from '../../../src/supervisor/log/native-log-store.ts'
import { createPortableLogStore } from '../../../src/supervisor/log/portable-log-store.ts'
import { canMount, mountMemory } from '../../support/files/file-systems.ts'
import { startSupervisor } from '../../support/supervisor/supervisor.ts'
import { waitFor } from '../../support/wait-for.ts'

const LINE = `${'x'.repeat(99)}\n`

test.runIf(canMount).each([
  ['of the addon', createNativeLogStore],
  ['in JavaScript', () => createPortableLogStore()],
])('on a full disk the log store %s drops lines of a file and records the gap', async (_name, create) => {
  const store = create()
  onTestFinished(() => store.close())
  const path = join(mountMemory(64 * 1024), 'a.log')
  const source = store.add({ lines: 1_000_000, bytes: 2 ** 28 })
  source.writeTo({ path, maxBytes: 2 ** 30, keep: 1, hasTimes: false })
  const feed = async (text: string): Promise<void> => {
    const through = new PassThrough()
    source.attach(0, through)
    through.end(text)
    await new Promise((resolve) => through.once('close', resolve))
  }
  for (let i = 0; i < 20; i++) await feed(LINE.repeat(50))
  const { fileLostBytes, end } = source.counts()
  const written = readFileSync(path).length
  expect([written + fileLostBytes, end]).toEqual([100_000, 1_000])
  const lastByte = readFileSync(path).at(-1)
  truncateSync(path, 100)
  await feed('after\n')
  const gap = `${lastByte === 0x0a ? '' : '\n'}[${fileLostBytes} bytes of lines could not be written here]\n`
  expect(readFileSync(path, 'utf8')).toBe(`${LINE}${gap}after\n`)
})

test.runIf(canMount)(
  'a process whose log file cannot be written keeps running and reports lost bytes',
  async () => {
    const { ask } = await startSupervisor({
      noisy: { cmd: 'seq 1 100000; exec sleep 1000', log: { dir: mountMemory(64 * 1024) } },
    })
    await waitFor('lost lines', async () => (await ask('/processes/noisy')).body.log_lost_bytes > 0)
    expect((await ask('/processes/noisy')).body.status).toBe('running')
  },
)
