import { createHash, randomBytes, randomInt } from 'node:crypto'
import { buffer, text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Backend, ExecRequest } from '../../../src/workspace/backend/backend.ts'
import { WORKSPACE_DIR } from '../../../src/workspace/workspace.ts'
import { BACKENDS, createIn, outputOf, sh } from '../../support/workspace/backend/backends.ts'
import { uniqueName } from '../../support/engine/docker.ts'
import { waitFor } from '../../support/wait-for.ts'

for (const { kind, make: makeBackend, isDocker, isReal, isDirect, isVariant, isSlow } of BACKENDS)
  describe(`programs of the ${kind} backend`, { tags: isVariant === true ? ['long'] : [] }, () => {
    let backend: Backend
    const rarely = { tags: isSlow === true ? ['long'] : [] }

    const shared = uniqueName('shared')
    const output = (name: string, request: ExecRequest) => outputOf(backend, name, request)

    beforeAll(async () => {
      backend = await makeBackend()
      await backend.open(() => undefined)
      await createIn(backend, shared)
    })
    afterAll(async () => {
      await backend.remove(shared, false)
      await backend.close()
    })
    /** Reads everything from a socket, replies, and prints a hash of what it read. */
    const client = (path: string): ExecRequest => clientOf('IO::Socket::UNIX->new($ARGV[0])', path)
    const portClient = (port: number): ExecRequest =>
      clientOf('IO::Socket::INET->new("127.0.0.1:$ARGV[0]")', String(port))
    const clientOf = (connect: string, address: string): ExecRequest => ({
      argv: [
        'perl',
        '-MIO::Socket::UNIX',
        '-MIO::Socket::INET',
        '-MDigest::SHA',
        '-e',
        `my $socket = ${connect} or do { warn $!; exit($! + 0) };
       local $/; my $all = <$socket>; print $socket "from inside"; close $socket;
       print Digest::SHA::sha256_hex($all), "\\n"`,
        address,
      ],
      stdin: false,
    })
    test('exec reports the exit status and separates the two outputs', async () => {
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

    test('exec runs with the environment of the workspace, overridden by its own', async () => {
      const { stdout } = await output(shared, sh('echo $FROM_CREATION'))
      expect(stdout).toBe('a = b\n')
      const own = { ...sh('echo $FROM_CREATION'), environment: { FROM_CREATION: 'own' } }
      expect((await output(shared, own)).stdout).toBe('own\n')
    })

    test('exec of a missing program exits with 126 or 127', async () => {
      const { status } = await output(shared, { argv: ['/no/such/program'], stdin: false })
      expect([126, 127]).toContain(status)
    })

    test('the end of standard input reaches the program, and the output still arrives', async () => {
      const process = await backend.exec(shared, { argv: ['wc', '-c'] })
      process.stdin.end(Buffer.alloc(1_000_000))
      expect((await text(process.stdout)).trim()).toBe('1000000')
      expect(await process.exitStatus).toEqual({ status: 0 })
    })

    test('32 MB pass unchanged in both directions', rarely, async () => {
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

    test('exec reports which signal terminated a program', async () => {
      const process = await backend.exec(shared, sh('kill -TERM $$'))
      process.stdout.resume()
      process.stderr.resume()
      const { status, signal } = await process.exitStatus
      // The engine knows only the number.
      expect([status, signal]).toEqual([143, isDirect ? 'SIGTERM' : undefined])
    })

    test.runIf(isDirect)('each direction of a program ends separately', async () => {
      const process = await backend.exec(shared, {
        argv: ['/bin/sh', '-c', 'exec >&-; cat >&2; echo end >&2'],
      })
      expect(await text(process.stdout)).toBe('')
      process.stdin.end('said\n')
      expect(await text(process.stderr)).toBe('said\nend\n')
      expect(await process.exitStatus).toEqual({ status: 0 })
    })

    test('100 concurrent programs each get their own bytes', { tags: ['long'] }, async () => {
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

    test('input that the program does not read is not a server error', async () => {
      const process = await backend.exec(shared, { argv: ['/bin/sh', '-c', 'exec <&-; exit 4'] })
      process.stdin.write(Buffer.alloc(4 * 2 ** 20))
      process.stdout.resume()
      process.stderr.resume()
      if (!isDocker) process.stdin.on('error', () => undefined)
      expect(await process.exitStatus).toEqual({ status: 4 })
    })

    test.runIf(isDirect)(
      'a socket inside connects the workspace’s user with the server in both directions',
      async () => {
        const data = randomBytes(2 ** 20)
        const seen: Promise<string>[] = []
        const listener = await backend.listenInside(shared, (connection) => {
          connection.write(data)
          connection.end()
          // Its own half has ended, and it still receives.
          seen.push(text(connection))
        })
        onTestFinished(() => listener.close())
        expect(backend.canListenInside(shared)).toBe(true)
        const { stdout } = await output(shared, client(listener.path))
        expect(stdout).toBe(`${createHash('sha256').update(data).digest('hex')}\n`)
        expect(await seen[0]).toBe('from inside')
        await listener.close()
        expect(await output(shared, client(listener.path))).toMatchObject({ stdout: '', status: 2 })
      },
    )

    test.runIf(isDirect && isReal)('a socket inside refuses another user of the workspace', async () => {
      const listener = await backend.listenInside(shared, (connection) => connection.destroy())
      onTestFinished(() => listener.close())
      const { status, stderr } = await output(shared, { ...client(listener.path), user: '1234' })
      expect([status, stderr]).toEqual([13, expect.stringContaining('Permission denied')])
    })

    test.runIf(!isDirect)(
      'a workspace that shares nothing with the server has no server socket',
      async () => {
        expect(backend.canListenInside(shared)).toBe(false)
        await expect(backend.listenInside(shared, () => undefined)).rejects.toMatchObject({
          code: 'BACKEND_ERROR',
        })
      },
    )

    test('a port inside connects every program with the server in both directions, until it closes', async () => {
      const data = randomBytes(2 ** 20)
      const seen: Promise<string>[] = []
      const number = 20_000 + randomInt(10_000)
      const port = await backend.listenPort(shared, number, (connection) => {
        connection.write(data)
        connection.end()
        // Its own half has ended, and it still receives.
        seen.push(text(connection))
      })
      onTestFinished(() => port.close())
      for (const user of isReal ? ['0', '1234'] : ['']) {
        const { stdout } = await output(shared, { ...portClient(number), ...(user !== '' && { user }) })
        expect(stdout).toBe(`${createHash('sha256').update(data).digest('hex')}\n`)
      }
      expect(new Set(await Promise.all(seen))).toEqual(new Set(['from inside']))
      if (isReal)
        await expect(backend.listenPort(shared, number, () => undefined)).rejects.toMatchObject({
          code: 'PORT_UNAVAILABLE',
        })
      port.close()
      await port.closed
      expect(await output(shared, portClient(number))).toMatchObject({ stdout: '', status: 111 })
    })

    test('hanging up leaves no process behind', async () => {
      const seconds = 300_000 + Math.floor(Math.random() * 100_000)
      const process = await backend.exec(shared, sh(`sleep ${seconds} & sleep ${seconds}`))
      process.stdout.resume()
      // The brackets keep the search from finding itself.
      const running = async () => (await output(shared, sh(`pgrep -cf '[s]leep ${seconds}'`))).stdout.trim()
      // The shell, whose own command line names the program too, and its two children.
      await waitFor('the program', async () => (await running()) === '3')
      await process.hangUp()
      await expect.poll(running).toBe('0')
    })

    test('hanging up ends the input of a program that survives it', async () => {
      const mark = `/tmp/${uniqueName('hung-up')}`
      const process = await backend.exec(shared, sh(`trap '' HUP; echo; cat >/dev/null; : >${mark}`))
      await new Promise((resolve) => process.stdout.once('data', resolve))
      await process.hangUp()
      const exists = async () => (await output(shared, sh(`[ -e ${mark} ]`))).status === 0
      await expect.poll(exists).toBe(true)
      await output(shared, sh(`rm ${mark}`))
    })

    test.runIf(isReal)('a terminal has the requested size and follows a resize', async () => {
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
  })
