import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { askProxy } from '../../support/supervisor/proxied.ts'
import { freePort, supervisorUser, type SupervisorUser } from '../../support/supervisor/supervisor-cli.ts'
import { waitFor } from '../../support/wait-for.ts'

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
  return { child, output: () => output, ended: once(child, 'exit').then(([code, signal]) => code ?? signal) }
}

/** Starts a command that runs until it is interrupted. */
function run(user: SupervisorUser, ...argv: readonly string[]): Running {
  const options = { cwd: user.dir, env: user.environment }
  return follow(
    spawn(process.execPath, [PROGRAM, ...argv], { ...options, stdio: ['ignore', 'pipe', 'inherit'] }),
  )
}

/** Starts a command on a terminal of 100 columns and 24 rows; its input receives keystrokes. */
function runOnTerminal(user: SupervisorUser, ...argv: readonly string[]): Running {
  const line = ['stty cols 100 rows 24;', 'exec', process.execPath, PROGRAM, ...argv].join(' ')
  return follow(
    spawn('script', ['-qefc', line, '/dev/null'], {
      cwd: user.dir,
      env: { ...user.environment, TERM: 'xterm', SHELL: '/bin/sh' },
      stdio: ['pipe', 'pipe', 'inherit'],
    }),
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

test('top shows processes and lines, handles keys, and restores the terminal', async () => {
  const user = await supervisorUser({
    alpha: { cmd: 'echo from alpha; exec sleep 1000' },
    beta: { cmd: 'echo from beta; echo other; exec sleep 1000' },
  })
  await user.up()
  const top = runOnTerminal(user, 'top')
  await waitFor('the screen', () => top.output().includes('from alpha'))
  expect(top.output()).toContain('\u001b[?1049h')
  top.child.stdin?.write('\u001b[B')
  await waitFor('the second process', () => top.output().includes('from beta'))
  top.child.stdin?.write('x')
  await waitFor('its end', async () => (await user.ask('/processes/beta')).status === 'stopped')
  top.child.stdin?.write('s')
  await waitFor('its start', async () => (await user.ask('/processes/beta')).status === 'running')
  const before = top.output().length
  top.child.stdin?.write('/oth\r')
  await waitFor('filtered lines', () => /other/.test(top.output().slice(before)))
  top.child.stdin?.write('q')
  expect(await top.ended).toBe(0)
  expect(top.output().trimEnd().endsWith('\u001b[?25h\u001b[?1049l')).toBe(true)
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
  expect(manager.output()).toMatch(/STOPPING=1/)
})
