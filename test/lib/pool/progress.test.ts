import { expect, onTestFinished, test } from 'vitest'
import { Pool } from '../../../src/lib/pool/pool.ts'
import { workerFile } from '../../../src/lib/pool/worker-file.ts'

test('run passes on what a worker tells while it is at its task, and ends it soon when told to', async () => {
  const pool = new Pool({ name: 'news' })
  onTestFinished(() => pool.close())
  const stop = new AbortController()
  const told: number[] = []
  const task = { paths: ['/usr', '/proc', '/'], extentsFromBytes: 0 }
  const running = pool.run(workerFile('disk-walk'), task, {
    signal: stop.signal,
    onProgress: (entries) => {
      told.push(entries as number)
      stop.abort(new Error('enough'))
    },
  })
  await expect(running).rejects.toThrow('enough')
  expect(told[0]).toBeGreaterThan(0)
  // The thread is free again: a walk inside a native call heeds the end of its thread.
  expect(await pool.run(workerFile('disk-walk'), { ...task, paths: [import.meta.dirname] })).toMatchObject({
    trees: [{ is: 'measured' }],
  })
})
