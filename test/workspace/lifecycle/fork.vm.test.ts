import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { QMP_SOCKET } from '../../../src/workspace/backend/qemu/command-line.ts'
import { EnvelopeChannel } from '../../../src/lib/envelope/envelope-channel.ts'
import { uuidV7 } from '../../../src/lib/envelope/uuid-v7.ts'
import { AGENT_PORT, BUS_PORT } from '../../../src/lib/guest/protocol.ts'
import { askGuest } from '../../../src/workspace/backend/microvm/guest/ask-guest.ts'
import {
  dialGuest,
  dialSocket,
  hostPortSocket,
} from '../../../src/workspace/backend/microvm/guest/guest-line.ts'
import { qmp } from '../../../src/workspace/backend/qemu/qmp.ts'
import { machineRoots, vmServer } from '../../support/vm/vm-server.ts'
import { makeWorkspace, type TestServer } from '../../support/workspace/server/test-server.ts'

const roots = machineRoots()
let server: TestServer
beforeAll(async () => {
  // A serial port, as on machines without vsock.
  server = await vmServer(roots, {
    qemu: { root: roots.root, accel: 'tcg', vhost_device_vsock: '/nonexistent' },
  })
  await makeWorkspace(server.url, { name: 'source' })
})
afterAll(async () => {
  for (const name of ['source', 'a-1', 'a-2', 'disk', 'late'])
    await server.api(`workspaces/${name}`, 'DELETE')
  await server.stop()
  roots.remove()
})

const post = (path: string, body?: object) => server.api(`workspaces/${path}`, 'POST', body)
const run = async (name: string, command: string, user = 'root'): Promise<string> =>
  (await post(`${name}/exec`, { command, user })).body.stdout

/** Lines that identify a machine, and its random numbers. */
const IDENTITY = `hostname; cat /etc/machine-id; cat /sys/class/net/eth0/address
ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key 2>/dev/null || cat /etc/ssh/ssh_host_ed25519_key
od -An -N512 -v -tx1 -w16 /dev/urandom`
const identityOf = async (name: string): Promise<readonly string[]> =>
  (await run(name, IDENTITY)).trim().split('\n')

/** Expects that no two machines have a line in common. */
function expectDistinct(all: readonly (readonly string[])[]): void {
  for (const own of all) {
    const others = new Set(all.filter((each) => each !== own).flat())
    expect(own.length).toBeGreaterThan(35)
    expect(own.filter((line) => others.has(line))).toEqual([])
  }
}
/** Sends an agent's first message on a machine's line to the bus; resolves with whether the bus accepts its token. */
async function isAcceptedWith(token: string, name: string): Promise<boolean> {
  const socket = join(roots.runDir, metadataOf(name).id, hostPortSocket(BUS_PORT))
  const connection = await dialSocket(socket)
  return new Promise((resolve) => {
    const channel = new EnvelopeChannel(connection, 2 ** 20, () => {
      resolve(true)
      channel.close()
    })
    channel.send({
      id: uuidV7(Date.now()),
      namespace: 'system:health',
      type: 'request',
      timestamp: new Date().toISOString(),
      payload: { token },
    })
    void channel.closed.then(() => resolve(false))
  })
}
const metadataOf = (name: string) =>
  JSON.parse(readFileSync(join(roots.root, 'instances', name, 'metadata.json'), 'utf8'))
const files = 'cd /workspace && find . -printf "%p %y %m %U:%G %l\\n" | grep -v numbers | sort; cat file'

test('forks of a running machine continue its programs with another identity, and it runs on', async () => {
  await run(
    'source',
    `cd /workspace && echo content >file && ln -s /etc/shadow link && mknod null c 1 3 && cp /bin/true own && chmod 4750 own
    mkdir -p /etc/ssh && { ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key || echo parent >/etc/ssh/ssh_host_ed25519_key; }
    nohup sh -c 'while :; do od -An -N16 -tx1 /dev/urandom >>/dev/shm/numbers; done' >/dev/null 2>&1 &
    echo $! >/workspace/pid`,
  )
  const before = Number(await run('source', 'wc -l </dev/shm/numbers'))
  const forked = await post('source/fork', { count: 2, prefix: 'a', memory: true })
  expect(forked).toMatchObject({
    status: 201,
    body: { memory: true, workspaces: [{ name: 'a-1', forked_from: 'source' }, { name: 'a-2' }] },
  })
  expect(forked.body.paused_ms).toBeGreaterThan(0)
  const numbers: string[][] = []
  for (const name of ['source', 'a-1', 'a-2']) {
    // The same program continues.
    const count = Number(await run(name, 'wc -l </dev/shm/numbers'))
    expect(count).toBeGreaterThanOrEqual(before)
    await expect
      .poll(async () => Number(await run(name, 'wc -l </dev/shm/numbers')), { timeout: 60_000 })
      .toBeGreaterThan(count)
    numbers.push((await run(name, 'cat /dev/shm/numbers')).trim().split('\n'))
  }
  // Numbers from before the fork are common, and none from after it.
  const [source = [], first = [], second = []] = numbers
  const common = (a: readonly string[], b: readonly string[]) => a.filter((line) => b.includes(line)).length
  const shared = first.findIndex((line, index) => line !== source[index])
  expect(shared).toBeGreaterThanOrEqual(before)
  expect([common(first, source), common(second, source), common(first, second)]).toEqual([
    shared,
    shared,
    shared,
  ])
  expect(await run('a-1', files)).toBe(await run('source', files))
  const all = await Promise.all(['source', 'a-1', 'a-2'].map(identityOf))
  expect(all.map(([hostname]) => hostname)).toEqual(['source', 'a-1', 'a-2'])
  expectDistinct(all)
  // The source's token is in the memory of each fork.
  const tokens = ['source', 'a-1', 'a-2'].map((name) => metadataOf(name).run.agentToken as string)
  const accepted = tokens.map((token) =>
    Promise.all(['source', 'a-1', 'a-2'].map((name) => isAcceptedWith(token, name))),
  )
  expect(await Promise.all(accepted)).toEqual([
    [true, false, false],
    [false, true, false],
    [false, false, true],
  ])
  const clock = Number(await run('a-1', 'date +%s')) * 1_000
  expect(Math.abs(clock - Date.now())).toBeLessThan(20_000)
  await run('a-1', 'echo changed >/workspace/file && sync')
  expect(await run('a-2', 'cat /workspace/file')).toBe('content\n')
  expect(readdirSync(join(roots.root, 'forks'))).toEqual([])
})

test('forks of its disk boot with another identity', async () => {
  await server.api('workspaces/a-2', 'DELETE')
  const forked = await post('source/fork', { names: ['disk'], memory: false })
  expect(forked).toMatchObject({ status: 201, body: { memory: false, workspaces: [{ name: 'disk' }] } })
  expect(await run('disk', 'ls /dev/shm')).toBe('')
  expect(await run('disk', files)).toBe(await run('source', files))
  expectDistinct(await Promise.all(['source', 'disk'].map(identityOf)))
  await server.api('workspaces/disk', 'DELETE')
})

test('a suspended machine is forked with its memory, and stays suspended', async () => {
  await run('a-1', 'echo second >/workspace/second; echo kept >/dev/shm/kept')
  // Never sees the name of another machine than its own, nor random numbers of before the fork.
  await run(
    'a-1',
    `nohup sh -c 'while :; do echo $(hostname) $(od -An -N16 -tx1 /dev/urandom) >>/dev/shm/seen; done' >/dev/null 2>&1 &`,
  )
  await expect
    .poll(async () => Number(await run('a-1', 'wc -l </dev/shm/seen')), { timeout: 60_000 })
    .toBeGreaterThan(0)
  expect((await post('a-1/suspend')).status).toBe(200)
  expect(await post('a-1/fork', { names: ['late'] })).toMatchObject({
    status: 201,
    body: { memory: true, paused_ms: 0, workspaces: [{ status: 'running', forked_from: 'a-1' }] },
  })
  expect(await run('late', 'cat /workspace/second /dev/shm/kept; hostname')).toBe('second\nkept\nlate\n')
  expect((await server.api('workspaces/a-1')).body.status).toBe('suspended')
  expect((await post('a-1/start')).status).toBe(200)
  expectDistinct(await Promise.all(['source', 'a-1', 'late'].map(identityOf)))
  const seen = async (name: string) => (await run(name, 'cat /dev/shm/seen')).trim().split('\n')
  const [parent, child] = [await seen('a-1'), await seen('late')]
  const common = child.findIndex((line, index) => line !== parent[index])
  expect(common).toBeGreaterThan(0)
  // Of the first line, the program had the name already.
  expect(
    child.slice(common + 1).filter((line) => !line.startsWith('late ') || parent.includes(line)),
  ).toEqual([])
})

test('a server continues a machine that a killed one left paused, and removes the copy', async () => {
  await server.api('workspaces/late', 'DELETE')
  const [id] = readdirSync(roots.runDir)
  expect(id).toBeDefined()
  for (const each of readdirSync(roots.runDir)) {
    const socket = join(roots.runDir, each, QMP_SOCKET)
    if (existsSync(socket)) await qmp(socket, [{ execute: 'stop' }])
  }
  const copy = join(roots.root, 'forks', '0123456789abcdef')
  mkdirSync(copy, { recursive: true })
  writeFileSync(join(copy, '.creating'), '')
  writeFileSync(join(copy, 'upper.ext4'), 'partial')
  server = await server.restart()
  expect(await run('source', 'echo running')).toBe('running\n')
  expect(readdirSync(join(roots.root, 'forks'))).toEqual([])
})

test('a server lets programs continue that a killed one left frozen', async () => {
  const { id } = metadataOf('source')
  const lines = async () => Number(await run('source', 'wc -l </dev/shm/numbers'))
  const line = await dialGuest('serial', { id, socketDir: join(roots.runDir, id) }, AGENT_PORT)
  await askGuest(line, { do: 'freeze' })
  line.destroy()
  const frozen = await lines()
  expect(await lines()).toBe(frozen)
  server = await server.restart()
  // Much sooner than the agent itself lets them continue.
  await expect.poll(lines, { timeout: 20_000 }).toBeGreaterThan(frozen)
})
