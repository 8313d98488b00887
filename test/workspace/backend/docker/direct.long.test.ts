import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Backend } from '../../../../src/workspace/backend/backend.ts'
import { MountedSocketDirs } from '../../../../src/workspace/backend/docker/exec/mounted-socket-dirs.ts'
import { createIn, outputOf, sh } from '../../../support/workspace/backend/backends.ts'
import { docker, dockerBackend, uniqueName } from '../../../support/engine/docker.ts'
import { engineProxy } from '../../../support/engine/engine-proxy.ts'
import { waitFor } from '../../../support/wait-for.ts'

// Running programs without the engine, how workspaces could interfere, and the fallback.

const RUNNER = 'workspace-run'
const root = realpathSync(mkdtempSync(join(tmpdir(), 'inside-')))
const serverId = '00000000-0000-4000-8000-' + Math.random().toString(16).slice(2, 14).padEnd(12, '0')
const shared = uniqueName('direct')
let dirs: MountedSocketDirs
let backend: Backend

beforeAll(async () => {
  dirs = await MountedSocketDirs.own(root)
  backend = dockerBackend({ mountedSocketDirs: dirs, serverId })
  await backend.open(() => undefined)
  await createIn(backend, shared)
})
afterAll(async () => {
  await backend.remove(shared, false)
  await backend.close()
  rmSync(root, { recursive: true })
})

const makeForTest = async (stem: string, at = backend) => {
  const name = uniqueName(stem)
  onTestFinished(() => at.remove(name, false))
  await createIn(at, name)
  return name
}
/** Time slice in nanoseconds; 0 where the kernel reports none, as before Linux 6.12. */
const sliceIn = (sched: string) => Number(/se\.slice\s*:\s*(\d+)/.exec(sched)?.[1] ?? 0)
function hasSlices(): boolean {
  try {
    return sliceIn(readFileSync('/proc/self/sched', 'utf8')) > 0
  } catch {
    return false
  }
}
const openDescriptors = () => readdirSync('/proc/self/fd').length
/** Whether a program's streams are pipes of this process, which means that a runner started it. */
const isRunDirectly = async (name: string, at = backend) =>
  (await outputOf(at, name, sh('cat /proc/$PPID/comm'))).stdout === `${RUNNER}\n`

test('programs run directly and leave nothing in the workspace’s directory', async () => {
  expect(await isRunDirectly(shared)).toBe(true)
  const entries = readdirSync(dirs.pathOf(shared))
  expect(entries.filter((entry) => entry !== RUNNER)).toHaveLength(1)
  await outputOf(backend, shared, sh('true'))
  expect(readdirSync(dirs.pathOf(shared))).toEqual(entries)
})

test.runIf(hasSlices())('programs do not wait for the long time slices of busy ones', async () => {
  const { stdout } = await outputOf(backend, shared, sh('cat /proc/self/sched'))
  expect(sliceIn(stdout)).toBeLessThanOrEqual(500_000)
})

test('deleted workspaces leave no open socket in the server', async () => {
  const useOne = async () => {
    const name = uniqueName('direct')
    await createIn(backend, name)
    expect(await isRunDirectly(name)).toBe(true)
    await backend.remove(name, false)
  }
  await useOne()
  const before = openDescriptors()
  for (let i = 0; i < 4; i++) await useOne()
  expect(openDescriptors()).toBeLessThan(before + 3)
})

test('a program in a terminal uses the engine’s stream', async () => {
  const terminal = { columns: 80, rows: 24 }
  const process = await backend.exec(shared, { argv: ['cat', '/proc/self/stat'], terminal })
  expect((await text(process.stdout)).split(' ')[3]).toBe('0')
})

test.each(['0', '1000', '4711'])('user %s can neither change nor list the directory', async (user) => {
  const attempts = [
    'touch /run/workspace/x',
    'mkdir /run/workspace/x',
    'ln -s / /run/workspace/x',
    `rm -f /run/workspace/${RUNNER}`,
    `mv /run/workspace/${RUNNER} /run/workspace/x`,
    `chmod 777 /run/workspace/${RUNNER}`,
    `chmod 777 /run/workspace`,
    `echo x >>/run/workspace/${RUNNER}`,
    'mount -o remount,rw /run/workspace',
    'umount /run/workspace',
    ...(user === '0' ? [] : ['ls /run/workspace']),
  ]
  const { stdout } = await outputOf(
    backend,
    shared,
    sh(attempts.map((attempt) => `${attempt} 2>/dev/null && echo "${attempt}"`).join('\n'), user),
  )
  expect(stdout).toBe('')
  expect(await isRunDirectly(shared)).toBe(true)
})

const launchersOf = async (name: string, user: string): Promise<readonly string[]> => {
  const script =
    'for each in /proc/[0-9]*; do [ "$(cat $each/comm)" = workspace-run ] && echo ${each#/proc/}; done; true'
  const { stdout } = await outputOf(backend, name, sh(`${script} # ${user}`, user))
  return stdout.split('\n').filter(Boolean)
}

test('programs of one user share one launcher, which the engine started once', async () => {
  const parent = async () => (await outputOf(backend, shared, sh('cut -d " " -f 4 /proc/$PPID/stat'))).stdout
  const launcher = await parent()
  expect(launcher).toMatch(/^[1-9]\d*\n$/)
  const later = await Promise.all(Array.from({ length: 20 }, parent))
  expect(new Set(later)).toEqual(new Set([launcher]))
})

test.each(['1000', '4711'])(
  'programs of user %s cannot reach into the launcher of their user',
  async (user) => {
    const [launcher] = await launchersOf(shared, user)
    expect(launcher).toBeDefined()
    const attempts = [
      `cat /proc/${launcher}/environ`,
      `ls /proc/${launcher}/fd`,
      `echo 1 >/proc/${launcher}/mem`,
    ]
    const script = attempts.map((attempt) => `${attempt} >/dev/null 2>&1 && echo "${attempt}"`).join('; ')
    expect((await outputOf(backend, shared, sh(script, user))).stdout).toBe('')
  },
)

test('a user who is added to a group has it in the next program', async () => {
  const name = await makeForTest('groups')
  const groups = async () => (await outputOf(backend, name, sh('id -G', '1000'))).stdout.trim().split(' ')
  expect(await groups()).not.toContain('4242')
  await outputOf(backend, name, sh('echo "added:x:4242:workspace" >>/etc/group', '0'))
  expect(await groups()).toContain('4242')
})

test('a killed or hanging launcher is replaced, and each program runs once', async () => {
  const name = await makeForTest('killed')
  for (const signal of ['KILL', 'STOP']) {
    await outputOf(backend, name, sh('true', '4711'))
    const launchers = await launchersOf(name, '4711')
    await docker('exec', `ws-${name}`, 'sh', '-c', `kill -${signal} ${launchers.join(' ')} 2>/dev/null; true`)
    expect(
      await outputOf(backend, name, sh(`echo ${signal} >>/tmp/runs; cat /tmp/runs`, '4711')),
    ).toMatchObject({
      stdout: signal === 'KILL' ? 'KILL\n' : 'KILL\nSTOP\n',
    })
  }
  await docker('exec', `ws-${name}`, 'sh', '-c', 'kill -CONT -1; true')
  expect((await outputOf(backend, name, sh('cat /tmp/runs', '4711'))).stdout).toBe('KILL\nSTOP\n')
})

test('a launcher that sends an invalid reply is dropped', async () => {
  const name = await makeForTest('false')
  rmSync(join(dirs.pathOf(name), RUNNER))
  // A program of the container instead of the runner: it connects with the token and never ends a line.
  const impostor = `#!/usr/bin/perl
    use IO::Socket::UNIX; $_ = <STDIN>; my ($meet, $point, $word) = split;
    my $s = IO::Socket::UNIX->new("/run/workspace/$point"); syswrite $s, $word . "x" x 100000; sleep 60`
  writeFileSync(join(dirs.pathOf(name), RUNNER), impostor, { mode: 0o755 })
  expect(await outputOf(backend, name, sh('echo x >>/workspace/runs; cat /workspace/runs'))).toMatchObject({
    stdout: 'x\n',
    status: 0,
  })
})

test('a paused workspace refuses programs as the engine does', async () => {
  const name = await makeForTest('paused')
  expect(await isRunDirectly(name)).toBe(true)
  await docker('pause', `ws-${name}`)
  onTestFinished(async () => void (await docker('unpause', `ws-${name}`)))
  await expect(backend.exec(name, sh('true'))).rejects.toMatchObject({ code: 'BACKEND_ERROR' })
})

test('a connection without a token gets nothing', async () => {
  const [point] = readdirSync(dirs.pathOf(shared)).filter((entry) => entry !== RUNNER)
  const client = `use IO::Socket::UNIX; my $s = IO::Socket::UNIX->new("/run/workspace/${point}") or die;
    print $s "0" x 32; $s->flush; print defined(<$s>) ? "answered" : "closed"`
  expect(await outputOf(backend, shared, { argv: ['perl', '-e', client], stdin: false })).toMatchObject({
    stdout: 'closed',
  })
})

test('background children of a program do not delay its exit status', async () => {
  const process = await backend.exec(shared, sh('echo said; sleep 300 & echo $! >&2'))
  const seen: string[] = []
  process.stdout.on('data', (chunk: Buffer) => seen.push(chunk.toString()))
  process.stderr.on('data', (chunk: Buffer) => seen.push(chunk.toString()))
  expect(await process.exitStatus).toEqual({ status: 0 })
  // The program's own output has arrived; its child keeps running and keeps the streams open.
  expect(seen.join('')).toMatch(/^said\n\d+\n$|^\d+\nsaid\n$/)
  expect(process.stdout.readableEnded).toBe(false)
  const child = /\d+/.exec(seen.join(''))?.[0]
  await outputOf(backend, shared, sh(`kill ${child}`))
  await waitFor('the end of its output', () => process.stdout.readableEnded)
})

test('no descriptor stays open, however programs end', async () => {
  const end = [
    async () => void (await outputOf(backend, shared, sh('exit 3'))),
    async () => void (await outputOf(backend, shared, { argv: ['/no/such/program'] })),
    async () => {
      const process = await backend.exec(shared, { argv: ['cat'] })
      await process.hangUp()
      await process.exitStatus
    },
    async () => {
      const process = await backend.exec(shared, { argv: ['cat', '/dev/zero'] })
      process.stdout.destroy()
      process.stderr.resume()
      process.stdin.end()
      await process.exitStatus
    },
  ]
  await Promise.all(end.map((each) => each()))
  const before = openDescriptors()
  for (let i = 0; i < 10; i++) await Promise.all(end.map((each) => each()))
  // Connections to the engine are pooled, so their number varies by one.
  await expect.poll(openDescriptors).toBeLessThan(before + 10)
})

test('a stalled reader blocks the program without growing this process', async () => {
  const process = await backend.exec(shared, { argv: ['cat', '/dev/zero'] })
  process.stdout.once('data', () => process.stdout.pause())
  await waitFor('the pipe to be full', () => process.stdout.readableLength > 0)
  const before = globalThis.process.memoryUsage().arrayBuffers
  for (let i = 0; i < 20; i++) await outputOf(backend, shared, sh('true'))
  expect(globalThis.process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 2 ** 20)
  await process.hangUp()
  expect(await process.exitStatus).toMatchObject({
    signal: expect.stringMatching(/SIGHUP|SIGPIPE/) as string,
  })
})

test('a container created without the mount uses the engine’s stream', async () => {
  const before = dockerBackend({ serverId })
  await before.open(() => undefined)
  onTestFinished(() => before.close())
  const name = await makeForTest('earlier', before)
  expect(await isRunDirectly(name)).toBe(false)
  // Even with an existing directory, the program runs once.
  await dirs.create(name)
  expect(await outputOf(backend, name, sh('echo x >>/workspace/runs; cat /workspace/runs'))).toMatchObject({
    stdout: 'x\n',
    status: 0,
  })
  expect(backend.canListenInside(name)).toBe(false)
})

test('a program runs once where the runner cannot be executed', async () => {
  const name = await makeForTest('broken')
  rmSync(join(dirs.pathOf(name), RUNNER))
  writeFileSync(join(dirs.pathOf(name), RUNNER), 'not a program', { mode: 0o755 })
  expect(await outputOf(backend, name, sh('echo x >>/workspace/runs; cat /workspace/runs'))).toMatchObject({
    stdout: 'x\n',
    status: 0,
  })
  expect(await isRunDirectly(name)).toBe(false)
})

test('a program runs once where the runner cannot reach the server', async () => {
  const name = await makeForTest('elsewhere')
  const path = dirs.pathOf(name)
  // Like an engine on another machine: it mounts a different directory with that path.
  renameSync(path, `${path}.moved`)
  onTestFinished(() => rmSync(`${path}.moved`, { recursive: true, force: true }))
  await dirs.create(name)
  expect(await outputOf(backend, name, sh('echo x >>/workspace/runs; cat /workspace/runs'))).toMatchObject({
    stdout: 'x\n',
    status: 0,
  })
})

test('a workspace is created without the mount where the engine cannot mount it', async () => {
  const proxy = await engineProxy()
  const at = dockerBackend({ host: proxy.address, mountedSocketDirs: dirs, serverId })
  await at.open(() => undefined)
  onTestFinished(() => at.close())
  const name = uniqueName('unseen')
  onTestFinished(() => at.remove(name, false))
  proxy.onRequest = (request) => {
    if (request === 'POST /containers/create') rmSync(dirs.pathOf(name), { recursive: true, force: true })
    return 'pass'
  }
  await createIn(at, name)
  expect(await docker('inspect', '-f', '{{range .Mounts}}{{.Destination}} {{end}}', `ws-${name}`)).toBe(
    '/workspace',
  )
  expect(await outputOf(at, name, sh('echo works'))).toMatchObject({ stdout: 'works\n' })
  expect(existsSync(dirs.pathOf(name))).toBe(false)
})

test('an engine that goes away while a program starts leaves nothing behind', async () => {
  const proxy = await engineProxy()
  const at = dockerBackend({ host: proxy.address, mountedSocketDirs: dirs, serverId })
  await at.open(() => undefined)
  onTestFinished(() => at.close())
  expect(await isRunDirectly(shared, at)).toBe(true)
  const before = openDescriptors()
  // For another user, whose launcher does not exist yet.
  proxy.onAnswer = (request) => (/^POST \/exec\/\w+\/start$/.test(request) ? 'drop' : 'pass')
  await expect(at.exec(shared, sh('echo x >>/workspace/never', '0'))).rejects.toMatchObject({
    code: 'BACKEND_UNAVAILABLE',
  })
  proxy.onAnswer = () => 'pass'
  expect((await outputOf(backend, shared, sh('cat /workspace/never'))).status).not.toBe(0)
  await waitFor('the descriptors', () => openDescriptors() < before + 3)
})

test('a stopped workspace starts even when its directory has vanished', async () => {
  const name = await makeForTest('vanished')
  await backend.stop(name)
  rmSync(dirs.pathOf(name), { recursive: true })
  await backend.start(name)
  expect(await isRunDirectly(name)).toBe(true)
})

test('a workspace’s directory is deleted with it', async () => {
  const name = await makeForTest('gone')
  await outputOf(backend, name, sh('true'))
  expect(existsSync(dirs.pathOf(name))).toBe(true)
  await backend.remove(name, false)
  expect(existsSync(dirs.pathOf(name))).toBe(false)
})
