import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const CHILD = fileURLToPath(new URL('../../support/mcp/waiting-tool-child.ts', import.meta.url))

/** Starts a server whose tool answers after a delay, and sends calls of it. */
function serve(delayMs: number, calls: number) {
  const child = spawn(process.execPath, [CHILD, String(delayMs)], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const clientInfo = { name: 'test', version: '1' }
  const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  send({
    id: 0,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo },
  })
  send({ method: 'notifications/initialized' })
  for (let id = 1; id <= calls; id++)
    send({ id, method: 'tools/call', params: { name: 'wait', arguments: {} } })
  return { child, output: text(child.stdout), exit: once(child, 'exit') }
}

test('calls are answered although the input has ended, and then the server exits', async () => {
  const { child, output, exit } = serve(300, 3)
  child.stdin.end()
  const ids = (await output)
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { id: number }).id)
  expect(ids.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3])
  expect(await exit).toEqual([0, null])
})

test('a signal ends the server although a call is under way', async () => {
  const { child, output, exit } = serve(3_600_000, 1)
  await once(child.stdout, 'data')
  child.kill('SIGTERM')
  expect(await exit).toEqual([0, null])
  expect((await output).trim().split('\n')).toHaveLength(1)
})
