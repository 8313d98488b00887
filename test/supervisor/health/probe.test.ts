import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { run } from '../../../src/lib/process/run.ts'
import { createProbe } from '../../../src/supervisor/health/probe.ts'
import { startLoopbackServer } from '../../support/http/loopback-server.ts'

const PROGRAM = `
  import { createProbe } from ${JSON.stringify(join(packageRoot, 'src/supervisor/health/probe.ts'))}
  const monitor = new AbortController()
  const probe = createProbe({ kind: 'exec', command: ['/does/not/exist'] }, { cwd: '/', environment: {} })
  const reason = await probe(monitor.signal).catch(({ code }) => code)
  monitor.abort()
  console.log(reason)`

// A child that was never started has no id, and signals to group 0 go to the sender's group.
test("stopping a check whose program is missing does not kill the supervisor's group", async () => {
  const node = [process.execPath, '--input-type=module', '--eval', PROGRAM]
  const { status, stdout } = await run('setsid', ['--wait', ...node])
  expect({ status, stdout }).toEqual({ status: 0, stdout: 'ENOENT\n' })
})

test('a check by HTTP accepts 60 KiB of headers, and names the limit otherwise', async () => {
  const { server, port } = await startLoopbackServer('127.0.0.1')
  let bytes = 0
  server.prependListener('request', (_request, response: ServerResponse) =>
    response.setHeader('x', 'a'.repeat(bytes)),
  )
  const probe = createProbe(
    { kind: 'http', url: `http://127.0.0.1:${port}/`, headers: {}, status: undefined },
    { cwd: '/', environment: {}, user: undefined },
  )
  const check = () => probe(new AbortController().signal)
  bytes = 61_000
  expect(await check()).toEqual({ isHealthy: true, output: 'status 200' })
  bytes = 67_000
  await expect(check()).rejects.toThrow("the response's headers exceed 64 KiB")
})
