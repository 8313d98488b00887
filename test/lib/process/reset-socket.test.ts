import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { run } from '../../../src/lib/process/run.ts'

test('a connection that is reset at any moment of its end is closed, and its process can exit', async () => {
  const child = fileURLToPath(new URL('../../support/reset-socket-child.ts', import.meta.url))
  // Where Node does not close a socket, it waits for it when it exits.
  const signal = AbortSignal.timeout(30_000)
  const { status, stdout, stderr } = await run(process.execPath, [child], { signal })
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '15 cases closed\n', stderr: '' })
})
