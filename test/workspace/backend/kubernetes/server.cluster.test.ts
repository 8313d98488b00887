import { spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AGENT_PORT } from '../../../../src/lib/guest/protocol.ts'
import { KUBECONFIG, AGENT_IMAGE, makeNamespace } from '../../../support/cluster/cluster.ts'
import { openHttpTunnel } from '../../../support/http/http-tunnel.ts'
import { openSsh, type OpenSsh, runProgram } from '../../../support/workspace/ssh/open-ssh.ts'
import { expectError } from '../../../support/workspace/server/expect-error.ts'
import { call, startWorkspaceServer, type TestServer } from '../../../support/workspace/server/test-server.ts'

const BETWEEN_RESETS_MS = 100
const hash = (of: Buffer) => createHash('sha256').update(of).digest('hex')

let namespace: Awaited<ReturnType<typeof makeNamespace>>
let server: TestServer
let ssh: OpenSsh

const url = (path = '') => `${server.url}/api/workspaces/demo${path}`
const inside = async (command: string, stdin: string | Buffer = '') => {
  const { status, stdout, stderr } = await ssh.run('demo', command, { stdin })
  if (status !== 0) throw new Error(`${command}: status ${status}: ${stderr}`)
  return stdout
}

beforeAll(async () => {
  namespace = await makeNamespace()
  server = await startWorkspaceServer({
    settings: {
      enabled_backends: ['kubernetes'],
      default_backend: 'kubernetes',
      kubernetes: { kubeconfig: KUBECONFIG, namespace: namespace.name, agent_image: AGENT_IMAGE },
      ssh: { processes: 1 },
    },
  })
  ssh = await openSsh(server)
  const created = await server.create({
    name: 'demo',
    cpus: 1,
    memory_mb: 256,
  })
  if (created.status !== 201) throw new Error(JSON.stringify(created.body))
})
afterAll(async () => {
  await call(url(), 'DELETE').catch(() => undefined)
  ssh.remove()
  await server.stop()
  await namespace.remove()
})

test('a workspace is a pod with its fields', async () => {
  const { body } = await call(url())
  expect(body).toMatchObject({
    backend: 'kubernetes',
    status: 'running',
    cpus: 1,
    memory_mb: 256,
  })
  expect(body.ip_address).toMatch(/^10\.88\.1\.\d+$/)
  expect((await inside('hostname; id -un; pwd')).toString()).toBe('demo\nworkspace\n/workspace\n')
})

test('programs of SSH clients return their bytes and exit status through a worker process', async () => {
  const bytes = randomBytes(8 * 2 ** 20)
  const back = await inside('cat', bytes)
  expect(hash(back)).toBe(hash(bytes))
  expect(await ssh.run('demo', 'exit 7', { stdin: '' })).toMatchObject({ status: 7 })
})

test('F38 a transfer over SSH is equal although its connections are reset', async () => {
  const { body } = await call(url())
  const bytes = randomBytes(64 * 2 ** 20)
  const transfer = inside('cat', bytes)
  const over = transfer.then(
    () => true,
    () => true,
  )
  let resets = 0
  const reset = (): void => {
    const { stdout } = spawnSync('ss', ['-KHn', 'dst', body.ip_address, 'dport', '=', String(AGENT_PORT)])
    resets += stdout.toString().split('\n').filter(Boolean).length
  }
  do reset()
  while (!(await Promise.race([over, delay(BETWEEN_RESETS_MS, false)])))
  expect(hash(await transfer)).toBe(hash(bytes))
  expect(resets).toBeGreaterThan(5)
})

test('files of the API are those of the workspace', async () => {
  const file = url('/files?path=/workspace/page')
  const written = await fetch(file, {
    method: 'PUT',
    body: 'content',
    headers: { 'content-type': 'application/octet-stream' },
  })
  expect(written.status).toBeLessThan(300)
  expect((await inside('cat page')).toString()).toBe('content')
  expect(await (await fetch(file)).text()).toBe('content')
})

test('a session, a tunnel and a forward work, and reach only ports of the pod', async () => {
  await inside('tmux new-session -d -s work')
  expect((await call(url('/sessions'))).body.sessions).toMatchObject([{ name: 'work' }])
  const script = `use IO::Socket::INET; my $s = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => 7002, Listen => 5) or die;
    while (my $p = $s->accept) { my $in = do { local $/; <$p> }; print $p "heard $in"; close $p }`
  await inside(
    `perl -e '${script.replaceAll("'", `'"'"'`)}' >/dev/null 2>&1 & until grep -q :1B5A /proc/net/tcp; do :; done`,
  )
  const tunnel = await openHttpTunnel(url('/connect/7002'))
  if (tunnel.stream === undefined) throw new Error(tunnel.body)
  tunnel.stream.end('the tunnel')
  expect(await text(tunnel.stream)).toBe('heard the tunnel')
  expect(await openHttpTunnel(url('/connect/7003'))).toMatchObject({ status: 502 })
  const forwarded = await runProgram('ssh', [...ssh.argv('demo', '-W', '127.0.0.1:7002')], 'the forward')
  expect(forwarded.stdout.toString()).toBe('heard the forward')
})

test('capabilities that a cluster does not have are refused by name', async () => {
  const suspended = await call(url('/suspend'), 'POST')
  expectError(suspended, 501, 'SUSPEND_UNSUPPORTED')
  const forked = await call(url('/fork'), 'POST', { names: ['copy'] })
  expectError(forked, 501, 'FORK_UNSUPPORTED')
  const local = await server.create({ name: 'local', local_dir: '/opt' })
  expect(JSON.stringify(local.body)).toContain('local_dir is not available on a cluster')
})

test('a restarted server finds the workspace and its files', async () => {
  await inside('echo kept >file')
  server = await server.restart()
  expect((await call(url())).body).toMatchObject({ status: 'running' })
  ssh.remove()
  ssh = await openSsh(server)
  expect((await inside('cat file')).toString()).toBe('kept\n')
})

test('disk usage names the volume', async () => {
  const { body } = await server.api('system/df')
  expect(JSON.stringify(body)).toContain('"ws-demo"')
})
