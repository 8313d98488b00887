import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { expect, onTestFinished, test, vi } from 'vitest'
import { run } from '../../../src/lib/process/run.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { waitFor } from '../../support/wait-for.ts'
import { makeWorkspace, startWorkspaceServer } from '../../support/workspace/server/test-server.ts'

/** The two ends of a link between this machine and a network namespace of the test. */
const HERE = '192.168.231.1'
const THERE = '192.168.231.2'
const LIMIT_MS = 30_000
const UPGRADE = ['-H', 'Connection: Upgrade', '-H', 'Upgrade: workspace-tcp']

vi.setConfig({ testTimeout: 120_000 })

let lastCable = 0

/** A server with one workspace that listens at this end, and a function that runs programs at the other end. */
async function cable() {
  // The kernel removes the previous test's namespace asynchronously.
  const id = ++lastCable
  const namespace = `ws-test-${process.pid}-${id}`
  const [near, far] = [`wsnear${id}`, `wsfar${id}`]
  await ip('netns', 'add', namespace)
  onTestFinished(() => ip('netns', 'delete', namespace))
  await ip('link', 'add', near, 'type', 'veth', 'peer', 'name', far, 'netns', namespace)
  await ip('address', 'add', `${HERE}/30`, 'dev', near)
  await ip('-n', namespace, 'address', 'add', `${THERE}/30`, 'dev', far)
  onTestFinished(() => ip('link', 'delete', near))
  await ip('link', 'set', near, 'up')
  await ip('-n', namespace, 'link', 'set', far, 'up')
  const server = await startWorkspaceServer({
    backends: () => [new FakeBackend()],
    settings: { http: { host: HERE } },
  })
  onTestFinished(() => server.stop())
  const url = `http://${HERE}:${server.httpPort}`
  await makeWorkspace(url, { name: 'demo' })
  const start = (...argv: readonly string[]) => {
    const client = spawn('ip', ['netns', 'exec', namespace, ...argv], { stdio: ['pipe', 'pipe', 'ignore'] })
    onTestFinished(() => void client.kill('SIGKILL'))
    return client
  }
  return { namespace, near, far, server, url, start }
}

test('F31 a reader and a tunnel whose peer vanishes are closed', async () => {
  const { namespace, far, server, url, start } = await cable()
  start('curl', '-sN', `${url}/api/events`)
  // A tunnel to the server itself, which keeps it open without sending anything.
  start('curl', '-sN', ...UPGRADE, `${url}/api/workspaces/demo/connect/${server.sshPort}`)
  const connections = async () =>
    (await run('ss', ['-Htn', 'state', 'established', 'dst', THERE])).stdout.split('\n').filter(Boolean)
      .length
  await waitFor('both connections', async () => (await connections()) === 2)

  await ip('-n', namespace, 'link', 'set', far, 'down')
  // The kernel alone would keep them for a quarter of an hour.
  await expect.poll(connections).toBe(0)
})

test('F32 a tunnel over a slow link stays open until all data is transferred', async () => {
  const { near, url, start } = await cable()
  const bytes = 250_000
  const inside = createServer((socket) => socket.end(Buffer.alloc(bytes, 'x')))
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void inside.close())
  const rate = ['rate', '256kbit', 'burst', '4k', 'latency', '400ms']
  const shaped = await run('tc', ['qdisc', 'add', 'dev', near, 'root', 'tbf', ...rate])
  expect(shaped.status).toBe(0)
  const { port } = inside.address() as { port: number }
  const beganMs = performance.now()
  const client = start('curl', '-sN', ...UPGRADE, `${url}/api/workspaces/demo/connect/${port}`)
  const carried = await buffer(client.stdout)
  expect(carried.length).toBe(bytes)
  expect(performance.now() - beganMs).toBeGreaterThan(5_000)
})

test('F32 a file is written over a slow link as long as data arrives', async () => {
  const { namespace, far, url, start } = await cable()
  const content = randomBytes(1_100_000)
  const file = join(tempDir(), 'file')
  writeFileSync(file, content)
  const rate = ['rate', '256kbit', 'burst', '4k', 'latency', '400ms']
  await ip('netns', 'exec', namespace, 'tc', 'qdisc', 'add', 'dev', far, 'root', 'tbf', ...rate)
  const beganMs = performance.now()
  const at = `${url}/api/workspaces/demo/files?path=copy`
  const client = start('curl', '-s', '-w', '%{http_code}', '-T', file, at)
  expect(await text(client.stdout)).toBe('204')
  expect(performance.now() - beganMs).toBeGreaterThan(LIMIT_MS)
  expect(Buffer.from(await (await fetch(at)).arrayBuffer()).equals(content)).toBe(true)
})

async function ip(...argv: readonly string[]): Promise<void> {
  const { status, stderr } = await run('ip', argv)
  if (status !== 0) throw new Error(`ip ${argv.join(' ')}: ${stderr}`)
}
