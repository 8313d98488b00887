import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Pool } from '../../../src/lib/pool/pool.ts'
import { workerFile } from '../../../src/lib/pool/worker-file.ts'
import { tempDir } from '../../support/temp-dir.ts'

test('run forwards a worker’s progress and stops it soon after an abort', async () => {
  const pool = new Pool({ name: 'progress' })
  onTestFinished(() => pool.close())
  const stop = new AbortController()
  const progress: number[] = []
  const extentsFile = join(tempDir(), 'extents')
  const task = { paths: ['/usr', '/proc', '/'], extentsFromBytes: 0, extentsFile }
  const running = pool.run(workerFile('disk-walk'), task, {
    signal: stop.signal,
    onProgress: (entries) => {
      progress.push(entries as number)
      stop.abort(new Error('enough'))
    },
  })
  await expect(running).rejects.toThrow('enough')
  expect(progress[0]).toBeGreaterThan(0)
  // The thread is free again: a walk inside a native call stops with its thread.
  expect(await pool.run(workerFile('disk-walk'), { ...task, paths: [import.meta.dirname] })).toMatchObject({
    report: { trees: [{ is: 'measured' }] },
  })
})
