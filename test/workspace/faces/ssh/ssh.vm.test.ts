import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openHttpTunnel } from '../../../support/http/http-tunnel.ts'
import { openSsh, type OpenSsh, runProgram } from '../../../support/workspace/ssh/open-ssh.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { machineRoots, vmServer } from '../../../support/vm/vm-server.ts'
import { expectError } from '../../../support/workspace/server/expect-error.ts'
import { call, makeWorkspace, type TestServer } from '../../../support/workspace/server/test-server.ts'

const roots = machineRoots()
const upper = join(roots.root, 'uppers/demo/upper.ext4')
let server: TestServer
let ssh: OpenSsh

const inside = async (command: string, stdin: string | Buffer = '') => {
  const { status, stdout, stderr } = await ssh.run('demo', command, { stdin })
  if (status !== 0) throw new Error(`${command}: status ${status}: ${stderr}`)
  return stdout.toString()
}
const client = (program: string, argv: readonly string[], stdin = '') => {
  const options = program === 'rsync' ? ['-e', `ssh ${ssh.options.join(' ')}`] : ssh.options
  return runProgram(program, [...options, ...argv], stdin, { LC_ALL: 'C.UTF-8' })
}
const hash = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

beforeAll(async () => {
  server = await vmServer(roots)
  ssh = await openSsh(server)
  await makeWorkspace(server.url, { name: 'demo' })
})
afterAll(async () => {
  await server.api('workspaces/demo', 'DELETE').catch(() => undefined)
  ssh.remove()
  await server.stop()
  roots.remove()
})

test('a workspace is a virtual machine with its fields', async () => {
  const { body } = await server.api('workspaces/demo')
  expect(body).toMatchObject({
    backend: 'qemu',
    status: 'running',
    cpus: 1,
    memory_mb: 512,
    rootfs_path: upper,
  })
  expect(readFileSync(`/proc/${body.pid}/cmdline`, 'utf8')).toContain('qemu-system')
  expect(await inside('hostname')).toBe('demo\n')
  expect(await inside('cat /proc/sys/kernel/random/boot_id')).not.toBe(
    readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'),
  )
})

test('programs run as the workspace’s user and return their exit status', async () => {
  expect(await inside('id -un; pwd')).toBe('workspace\n/workspace\n')
  const ended = await ssh.run('demo', 'echo out; echo err >&2; exit 7', { stdin: '' })
  expect([ended.status, ended.stdout.toString(), ended.stderr]).toEqual([7, 'out\n', 'err\n'])
})

test('a terminal has the requested size', async () => {
  const { stdout } = await runProgram('ssh', ['-tt', ...ssh.options, 'demo@127.0.0.1', 'stty size; tty'], '')
  expect(stdout.toString()).toMatch(/^\d+ \d+\r\n\/dev\/pts\/\d+\r\n/)
})

test('megabytes are transferred in both directions without loss', async () => {
  const bytes = randomBytes(8 * 1024 * 1024)
  expect((await inside('sha256sum', bytes)).split(' ')[0]).toBe(hash(bytes))
  const back = await ssh.run('demo', 'cat', { stdin: bytes })
  expect(hash(back.stdout)).toBe(hash(bytes))
})

test('sftp, scp and rsync work', async () => {
  const directory = tempDir()
  const file = join(directory, 'file')
  writeFileSync(file, 'from outside')
  expect(await client('scp', [file, 'demo@127.0.0.1:scp'])).toMatchObject({ status: 0 })
  expect(await client('rsync', ['-a', file, 'demo@127.0.0.1:rsync'])).toMatchObject({ status: 0 })
  expect(
    await client('sftp', ['-b', '-', 'demo@127.0.0.1'], `put ${file} sftp\nget sftp ${file}.back\n`),
  ).toMatchObject({
    status: 0,
  })
  expect(await inside('cat scp rsync sftp')).toBe('from outside'.repeat(3))
  expect(readFileSync(`${file}.back`, 'utf8')).toBe('from outside')
})

test('tmux sessions are listed and killed', async () => {
  await inside('tmux new-session -d -s work')
  const { body } = await server.api('workspaces/demo/sessions')
  expect(body.sessions).toMatchObject([
    { name: 'work', workspace_name: 'demo', attached: false, window_count: 1 },
  ])
  expect(await server.api('workspaces/demo/sessions/work', 'DELETE')).toMatchObject({
    status: 204,
  })
})

test('a tunnel and a forward reach only ports of this machine', async () => {
  const script = `use IO::Socket::INET; my $s = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => 7002, Listen => 5) or die;
    while (my $p = $s->accept) { my $in = do { local $/; <$p> }; print $p "heard $in"; close $p }`
  await inside(
    `perl -e '${script.replaceAll("'", `'"'"'`)}' >/dev/null 2>&1 & until ss -ltn | grep -q :7002; do :; done`,
  )
  const url = `${server.url}/api/workspaces/demo/connect`
  const tunnel = await openHttpTunnel(`${url}/7002`)
  if (tunnel.stream === undefined) throw new Error(tunnel.body)
  tunnel.stream.end('the tunnel')
  expect(await text(tunnel.stream)).toBe('heard the tunnel')
  expect(await openHttpTunnel(`${url}/7003`)).toMatchObject({ status: 502 })
  const forwarded = await runProgram('ssh', [...ssh.argv('demo', '-W', '127.0.0.1:7002')], 'the forward')
  expect(forwarded.stdout.toString()).toBe('heard the forward')
})

test('the client’s agent can be used inside', async () => {
  const agent = await runProgram('ssh-agent', ['-s'], '')
  const [socket = ''] = /(?<=SSH_AUTH_SOCK=)[^;]+/.exec(agent.stdout.toString()) ?? []
  const [pid = ''] = /(?<=SSH_AGENT_PID=)\d+/.exec(agent.stdout.toString()) ?? []
  try {
    const environment = { SSH_AUTH_SOCK: socket }
    await runProgram('ssh-add', ['-q', ssh.keyFile], '', environment)
    const { stdout } = await ssh.run('demo', 'ssh-add -l', { flags: ['-A'], environment })
    expect(stdout.toString()).toMatch(/ED25519/)
  } finally {
    process.kill(Number(pid))
  }
})

test('F19 a restarted server finds its machine running with its programs', async () => {
  await inside('tmux new-session -d -s stays')
  const before = await server.api('workspaces/demo')
  server = await server.restart()
  ssh.remove()
  ssh = await openSsh(server)
  const after = await server.api('workspaces/demo')
  expect(after.body).toMatchObject({ status: 'running', pid: before.body.pid })
  expect(await inside('tmux list-sessions -F "#{session_name}"')).toBe('stays\n')
})

test('the image is shared and read-only, and the disk above it is sparse', async () => {
  expect(await inside('findmnt -no FSTYPE /')).toBe('overlay\n')
  const { size, blocks } = statSync(upper)
  expect(size).toBe(5 * 2 ** 30)
  expect(blocks * 512).toBeLessThan(200 * 2 ** 20)
})

test('written files survive stop and start, and a reset deletes them', async () => {
  const url = `${server.url}/api/workspaces/demo`
  await inside('echo kept > /workspace/file')
  expectError(await call(`${url}/reset`, 'POST'), 409, 'WORKSPACE_NOT_STOPPED')
  expect(await call(`${url}/stop`, 'POST')).toMatchObject({ status: 200, body: { status: 'stopped' } })
  expect(await call(`${url}/start`, 'POST')).toMatchObject({ status: 200, body: { status: 'running' } })
  expect(await inside('cat /workspace/file')).toBe('kept\n')
  await call(`${url}/stop`, 'POST')
  expect(await call(`${url}/reset`, 'POST')).toMatchObject({ status: 200, body: { status: 'stopped' } })
  await call(`${url}/start`, 'POST')
  expect(await inside('ls -A /workspace')).toBe('')
})

test('a deleted workspace leaves nothing behind', async () => {
  expect(await server.api('workspaces/demo', 'DELETE')).toMatchObject({ status: 204 })
  expect(existsSync(upper)).toBe(false)
  expect(existsSync(join(roots.root, 'instances/demo'))).toBe(false)
})
