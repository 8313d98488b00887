import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { packageRoot } from '../../../../src/lib/process/package.ts'
import { freePort } from '../../../support/services/free-port.ts'
import { askProxy } from '../../../support/supervisor/proxied.ts'
import { supervisorUser, type SupervisorUser } from '../../../support/supervisor/supervisor-cli.ts'
import { waitFor } from '../../../support/wait-for.ts'

const PROGRAM = join(packageRoot, 'src/bin/supervisor.ts')

interface Running {
  readonly child: ChildProcess
  readonly output: () => string
  readonly ended: Promise<unknown>
}

function follow(child: ChildProcess): Running {
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  child.stdout?.on('data', (bytes: Buffer) => (output += bytes.toString()))
  return { child, output: () => output, ended: once(child, 'close').then(([code, signal]) => code ?? signal) }
}

/** Starts a command that runs until it is interrupted. */
function run(user: SupervisorUser, ...argv: readonly string[]): Running {
  const options = { cwd: user.dir, env: user.environment }
  return follow(
    spawn(process.execPath, [PROGRAM, ...argv], { ...options, stdio: ['ignore', 'pipe', 'inherit'] }),
  )
}

test('attach shows output until it is interrupted and leaves the processes running', async () => {
  const user = await supervisorUser({
    talker: { cmd: 'i=0; while sleep 0.05; do i=$((i+1)); echo "tick $i"; done' },
  })
  await user.up()
  const attached = run(user, 'attach')
  await waitFor('lines', () => (attached.output().match(/"line":"tick \d+"/g) ?? []).length > 10)
  attached.child.kill('SIGINT')
  expect(await attached.ended).toBe(0)
  const ticks = [...attached.output().matchAll(/tick (\d+)/g)].map(([, number]) => Number(number))
  expect(ticks).toEqual(ticks.map((_, i) => (ticks[0] ?? 0) + i))
  expect((await user.ask('/processes/talker')).status).toBe('running')
})

test('requests shows recorded and new requests', async () => {
  const [port, proxyPort] = [await freePort(), await freePort()]
  const program = `require('http').createServer((q, r) => { r.statusCode = q.url === '/bad' ? 500 : 200; r.end() }).listen(${port}, '127.0.0.1')`
  const user = await supervisorUser(
    { web: { cmd: [process.execPath, '-e', program], proxy: { port } } },
    { proxy: { enabled: true, port: proxyPort } },
  )
  await user.up()
  const ask = async (path: string): Promise<number> => (await askProxy(proxyPort, path)).status
  await waitFor('the process', async () => (await ask('/first')) === 200)
  const following = run(user, 'requests', '-f', '--min-status', '500')
  await waitFor('a request that is shown', async () => {
    expect(await ask('/bad')).toBe(500)
    return following.output().includes('/bad')
  })
  following.child.kill('SIGTERM')
  expect(await following.ended).toBe(0)
  expect(following.output()).not.toContain('/first')
  const { stdout } = await user.supervisor('requests', '--max-status', '200')
  const { requests } = JSON.parse(stdout)
  expect(requests.map(({ url }: { url: string }) => url)).toContain('/first')
  const [{ id }] = requests
  expect(await user.supervisor('requests', '--replay', id)).toMatchObject({ status: 0 })
})

test('a service manager is notified of readiness, reloads and the stop', async () => {
  const user = await supervisorUser({ one: { cmd: 'exec sleep 1000' } })
  const socket = join(user.dir, 'notify')
  const manager = follow(
    spawn(
      'perl',
      [
        '-MSocket',
        '-e',
        '$| = 1; socket(S, AF_UNIX, SOCK_DGRAM, 0); bind(S, sockaddr_un($ARGV[0])); print "bound\n"; while (defined recv(S, $b, 4096, 0)) { print "$b\n" }',
        socket,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    ),
  )
  await waitFor('the manager', () => manager.output().includes('bound'))
  const { child, ended } = await user.up(['env', `NOTIFY_SOCKET=${socket}`])
  await waitFor('READY=1', () => manager.output().includes('READY=1'))
  child.kill('SIGHUP')
  await waitFor('a reload', () => /RELOADING=1\n[^]*READY=1/.test(manager.output()))
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
  await waitFor('STOPPING=1', () => manager.output().includes('STOPPING=1'))
})
