import { createHash, randomBytes } from 'node:crypto'
import { chownSync, existsSync, mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Backend, BackendChange, ExecRequest } from '../../../src/workspace/backend/backend.ts'
import { InsideDirs } from '../../../src/workspace/backend/docker/inside-dirs.ts'
import { WORKSPACE_DIR } from '../../../src/workspace/workspace.ts'
import { dockerBackend, leftovers, TEST_IMAGE, uniqueName } from '../../support/docker.ts'
import { FakeBackend } from '../../support/fake-backend.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'

const insideRoots = new Map<Backend, string>()

const kinds = [
  { kind: 'docker', open: directBackend, isDocker: true, isDirect: true },
  { kind: 'docker without a mount', open: () => dockerBackend(), isDocker: true, isDirect: false },
  { kind: 'fake', open: () => new FakeBackend(), isDocker: false, isDirect: true },
]

async function directBackend(): Promise<Backend> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'inside-')))
  const backend = dockerBackend({ insideDirs: await InsideDirs.keep(root) })
  insideRoots.set(backend, root)
  return backend
}

describe.each(kinds)('the $kind backend', ({ open, isDocker, isDirect }) => {
  let backend: Backend
  const changes: BackendChange[] = []
  const shared = uniqueName('shared')

  beforeAll(async () => {
    backend = await open()
    await backend.open((change) => changes.push(change))
    await make(shared)
  })
  afterAll(async () => {
    await backend.remove(shared, false)
    await backend.close()
    const root = insideRoots.get(backend)
    if (root !== undefined) rmSync(root, { recursive: true })
  })

  const make = (name: string, localDir = '') =>
    backend.create(
      {
        name,
        createdAt: new Date(),
        image: TEST_IMAGE,
        repo: 'https://example.com/r',
        localDir,
        environment: { FROM_CREATION: 'a = b' },
        cpus: 1,
        memoryMb: 256,
      },
      () => undefined,
      new AbortController().signal,
    )
  const makeForTest = async (stem: string, localDir = '') => {
    const name = uniqueName(stem)
    onTestFinished(() => backend.remove(name, false))
    return { name, workspace: await make(name, localDir) }
  }
  const output = async (name: string, request: ExecRequest) => {
    const process = await backend.exec(name, request)
    const [stdout, stderr, { status }] = await Promise.all([
      text(process.stdout),
      text(process.stderr),
      process.exitStatus,
    ])
    return { stdout, stderr, status }
  }
  /** Reads all that a socket says, answers, and prints the hash of what it read. */
  const client = (path: string): ExecRequest => ({
    argv: [
      'perl',
      '-MIO::Socket::UNIX',
      '-MDigest::SHA',
      '-e',
      `my $socket = IO::Socket::UNIX->new($ARGV[0]) or do { warn $!; exit($! + 0) };
       local $/; my $all = <$socket>; print $socket "from inside"; close $socket;
       print Digest::SHA::sha256_hex($all), "\\n"`,
      path,
    ],
    stdin: false,
  })
  const sh = (script: string): ExecRequest => ({ argv: ['/bin/sh', '-c', script], stdin: false })

  test('create reports a running workspace with all its fields', async () => {
    const { name, workspace } = await makeForTest('fields')
    expect(workspace).toMatchObject({
      name,
      backend: 'docker',
      state: { is: 'running' },
      repo: 'https://example.com/r',
      localDir: '',
      image: TEST_IMAGE,
      cpus: 1,
      memoryMb: 256,
    })
    expect(workspace.containerId).not.toBe('')
    expect(Date.now() - workspace.createdAt.getTime()).toBeLessThan(60_000)
    expect(await backend.find(name)).toEqual(workspace)
    expect((await backend.list()).map((each) => each.name)).toContain(name)
  })

  test('stop and start keep the files', async () => {
    const { name } = await makeForTest('keep')
    expect(await output(name, sh(`echo kept > ${WORKSPACE_DIR}/file`))).toMatchObject({ status: 0 })
    expect(await backend.stop(name)).toMatchObject({ state: { is: 'stopped' } })
    expect(await backend.start(name)).toMatchObject({ state: { is: 'running' } })
    expect(await output(name, sh(`cat ${WORKSPACE_DIR}/file`))).toMatchObject({ stdout: 'kept\n', status: 0 })
  })

  test('remove takes the volume with it unless told to keep it', async () => {
    const { name } = await makeForTest('volume')
    await output(name, sh(`echo kept > ${WORKSPACE_DIR}/file`))
    await backend.remove(name, true)
    expect(await backend.find(name)).toBeUndefined()
    expect(await backend.hasVolume(name)).toBe(true)
    await make(name)
    expect(await output(name, sh(`cat ${WORKSPACE_DIR}/file`))).toMatchObject({ stdout: 'kept\n' })
    await backend.remove(name, false)
    expect(await backend.hasVolume(name)).toBe(false)
    if (isDocker) expect(await leftovers(name)).toEqual([])
  })

  test('remove of what is not there does nothing', async () => {
    await backend.remove(uniqueName('absent'), false)
    expect(await backend.find(uniqueName('absent'))).toBeUndefined()
  })

  test('a local directory is the workspace', async () => {
    const directory = tempDir()
    const { name, workspace } = await makeForTest('local', directory)
    expect(workspace.localDir).toBe(directory)
    writeFileSync(join(directory, 'from-host'), 'here')
    expect(await output(name, sh(`cat ${WORKSPACE_DIR}/from-host`))).toMatchObject({ stdout: 'here' })
    await backend.remove(name, false)
    expect(existsSync(join(directory, 'from-host'))).toBe(true)
  })

  test.each([0, 1000, 4711])(
    'a local directory of user %i can be written, and stays that user’s',
    async (uid) => {
      const directory = tempDir()
      chownSync(directory, uid, uid)
      const { name } = await makeForTest('owner', directory)
      expect(await output(name, sh('echo x > inside; cd; pwd; touch at-home'))).toMatchObject({ status: 0 })
      expect(statSync(join(directory, 'inside'))).toMatchObject({ uid, gid: uid })
    },
  )

  test('a change behind the server is told', async () => {
    const { name } = await makeForTest('told')
    changes.length = 0
    await backend.stop(name)
    if (backend instanceof FakeBackend) backend.happen(name, { is: 'stopped' })
    await waitFor('the change', () =>
      changes.some((change) => change.is === 'changed' && change.name === name),
    )
  })

  test('exec tells the exit status and keeps the two outputs apart', async () => {
    expect(await output(shared, sh('echo out; echo err >&2; exit 7'))).toEqual({
      stdout: 'out\n',
      stderr: 'err\n',
      status: 7,
    })
  })

  test('exec sets the environment and runs in the workspace directory', async () => {
    const { stdout } = await output(shared, { ...sh('pwd; echo "$MARK"'), environment: { MARK: 'a b=c"' } })
    const [directory, mark] = stdout.split('\n')
    if (isDocker) expect(directory).toBe(WORKSPACE_DIR)
    expect(mark).toBe('a b=c"')
  })

  test('exec runs with the environment that the workspace was made with, and its own above it', async () => {
    const { stdout } = await output(shared, sh('echo $FROM_CREATION'))
    expect(stdout).toBe('a = b\n')
    const own = { ...sh('echo $FROM_CREATION'), environment: { FROM_CREATION: 'own' } }
    expect((await output(shared, own)).stdout).toBe('own\n')
  })

  test('exec of a missing program ends with 126 or 127', async () => {
    const { status } = await output(shared, { argv: ['/no/such/program'], stdin: false })
    expect([126, 127]).toContain(status)
  })

  test('end of standard input reaches the program, and the output still arrives', async () => {
    const process = await backend.exec(shared, { argv: ['wc', '-c'] })
    process.stdin.end(Buffer.alloc(1_000_000))
    expect((await text(process.stdout)).trim()).toBe('1000000')
    expect(await process.exitStatus).toEqual({ status: 0 })
  })

  test('32 MB pass both ways unchanged', async () => {
    const data = randomBytes(32 * 2 ** 20)
    const process = await backend.exec(shared, { argv: ['cat'] })
    process.stdin.end(data)
    const back = await buffer(process.stdout)
    expect(createHash('sha256').update(back).digest('hex')).toBe(
      createHash('sha256').update(data).digest('hex'),
    )
  })

  test('a reader that pauses loses nothing', async () => {
    const process = await backend.exec(
      shared,
      sh('head -c 20000000 /dev/zero; head -c 5000000 /dev/zero >&2'),
    )
    process.stdout.pause()
    await new Promise((resolve) => setTimeout(resolve, 300))
    const [stdout, stderr] = await Promise.all([buffer(process.stdout), buffer(process.stderr)])
    expect([stdout.length, stderr.length]).toEqual([20_000_000, 5_000_000])
  })

  test('a signal reaches the program and its children', async () => {
    const process = await backend.exec(
      shared,
      sh('trap "echo caught; exit 9" USR1; sleep 60 & sleep 0.2; echo ready; wait'),
    )
    let stdout = ''
    process.stdout.on('data', (chunk) => (stdout += chunk))
    await waitFor('the program', () => stdout.includes('ready'))
    expect(await process.signal('SIGUSR1')).toBe(true)
    expect(await process.exitStatus).toEqual({ status: 9 })
  })

  test('exec tells which signal ended a program', async () => {
    const process = await backend.exec(shared, sh('kill -TERM $$'))
    process.stdout.resume()
    process.stderr.resume()
    const { status, signal } = await process.exitStatus
    // The engine knows the number alone.
    expect([status, signal]).toEqual([143, isDirect ? 'SIGTERM' : undefined])
  })

  test.runIf(isDirect)('each direction of a program ends by itself', async () => {
    const process = await backend.exec(shared, {
      argv: ['/bin/sh', '-c', 'exec >&-; cat >&2; echo end >&2'],
    })
    expect(await text(process.stdout)).toBe('')
    process.stdin.end('said\n')
    expect(await text(process.stderr)).toBe('said\nend\n')
    expect(await process.exitStatus).toEqual({ status: 0 })
  })

  test('100 programs at once each get their own bytes', async () => {
    const outputs = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const process = await backend.exec(shared, { argv: ['cat'] })
        process.stdin.end(`program ${index}\n`.repeat(10_000))
        const [stdout, { status }] = await Promise.all([text(process.stdout), process.exitStatus])
        return status === 0 && stdout === `program ${index}\n`.repeat(10_000)
      }),
    )
    expect(outputs).toEqual(Array(100).fill(true))
  })

  test('an input that the program does not read is no error of the server’s', async () => {
    const process = await backend.exec(shared, { argv: ['/bin/sh', '-c', 'exec <&-; exit 4'] })
    process.stdin.write(Buffer.alloc(4 * 2 ** 20))
    process.stdout.resume()
    process.stderr.resume()
    if (!isDocker) process.stdin.on('error', () => undefined)
    expect(await process.exitStatus).toEqual({ status: 4 })
  })

  test.runIf(isDirect)('a socket inside joins the workspace’s user and the server, both ways', async () => {
    const data = randomBytes(2 ** 20)
    const seen: Promise<string>[] = []
    const listener = await backend.listenInside(shared, (connection) => {
      connection.write(data)
      connection.end()
      // Its own end has been said, and it still hears.
      seen.push(text(connection))
    })
    onTestFinished(() => listener.close())
    expect(backend.canListenInside(shared)).toBe(true)
    const { stdout } = await output(shared, client(listener.path))
    expect(stdout).toBe(`${createHash('sha256').update(data).digest('hex')}\n`)
    expect(await seen[0]).toBe('from inside')
    await listener.close()
    expect(await output(shared, client(listener.path))).toMatchObject({ stdout: '', status: 2 })
  })

  test.runIf(isDirect && isDocker)('a socket inside is not for another user of the workspace', async () => {
    const listener = await backend.listenInside(shared, (connection) => connection.destroy())
    onTestFinished(() => listener.close())
    const { status, stderr } = await output(shared, { ...client(listener.path), user: '1234' })
    expect([status, stderr]).toEqual([13, expect.stringContaining('Permission denied')])
  })

  test.runIf(!isDirect)('a workspace that shares nothing with the server has no socket of it', async () => {
    expect(backend.canListenInside(shared)).toBe(false)
    await expect(backend.listenInside(shared, () => undefined)).rejects.toMatchObject({
      code: 'BACKEND_ERROR',
    })
  })

  test('hanging up leaves no process behind', async () => {
    const seconds = 300_000 + Math.floor(Math.random() * 100_000)
    const process = await backend.exec(shared, sh(`sleep ${seconds} & sleep ${seconds}`))
    process.stdout.resume()
    // The brackets keep the search from finding itself.
    const running = async () => (await output(shared, sh(`pgrep -cf '[s]leep ${seconds}'`))).stdout.trim()
    // The shell, whose own line names the program too, and its two children.
    await waitFor('the program', async () => (await running()) === '3')
    await process.hangUp()
    await waitFor('its end', async () => (await running()) === '0')
  })

  test('the login environment names user, home and shell', async () => {
    const login = await backend.loginEnvironment(shared)
    expect(login.shell).toBe('/bin/bash')
    expect(login.home).toMatch(/^\//)
    if (isDocker)
      expect(login).toEqual({ user: 'workspace', userId: 1000, home: '/home/workspace', shell: '/bin/bash' })
  })

  test.runIf(isDocker)('a terminal has the size asked for, and follows a new one', async () => {
    const process = await backend.exec(shared, {
      argv: ['/bin/bash', '--norc', '-i'],
      terminal: { columns: 123, rows: 45 },
    })
    let screen = ''
    process.stdout.on('data', (chunk) => (screen += chunk))
    process.stdin.write('tty; stty size\n')
    await waitFor('the first size', () => screen.includes('45 123'))
    expect(screen).toContain('/dev/pts/')
    process.resize(80, 24)
    await waitFor('the new size', () => {
      process.stdin.write('stty size\n')
      return screen.includes('24 80')
    })
    process.stdin.write('exit 5\n')
    expect(await process.exitStatus).toEqual({ status: 5 })
  })

  test('usage names the workspace', async () => {
    expect([...(await backend.usage()).workspaces.keys()]).toContain(shared)
  })
})
