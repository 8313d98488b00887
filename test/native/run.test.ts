import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { sendDescriptors } from '../../src/native/programs/pipe.ts'
import { openPipes } from '../../src/workspace/backend/docker/exec/program-pipes.ts'
import {
  MEETING,
  metLauncher,
  RUNNER_WORD,
  runCommand,
  runProgram,
  startLauncher,
  WORD,
} from '../support/runner.ts'
import { tempDir } from '../support/temp-dir.ts'
import { waitFor } from '../support/wait-for.ts'

const sh = (script: string) => runProgram(['/bin/sh', '-c', script])

test.each([0, 1, 7, 126, 255])('the runner reports exit status %i', async (status) => {
  const { said } = await sh(`exit ${status}`)
  expect(await said).toBe(`exit ${status}\n`)
})

const ENDING = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGKILL', 'SIGUSR1', 'SIGPIPE', 'SIGTERM', 'SIGXCPU'] as const

test.each(ENDING)('the runner reports %s without a core dump', async (name) => {
  const { said } = await sh(`ulimit -c 0; kill -${name.slice(3)} $$`)
  expect(await said).toBe(`signal ${constants.signals[name]} 0\n`)
})

test('the runner reports a core dump', async () => {
  const { said } = await sh(`ulimit -c unlimited; cd '${tempDir()}'; kill -SEGV $$`)
  // A kernel that pipes cores to a program reports one even if that program discards it.
  expect(await said).toBe(`signal ${constants.signals.SIGSEGV} 1\n`)
})

test.each([
  ['does not exist', '/no/such/program', 127, 'No such file or directory'],
  ['is below a file', '/etc/passwd/program', 127, 'Not a directory'],
  ['is nowhere on the path', 'no-such-program', 127, 'No such file or directory'],
  ['may not be run', '/etc/passwd', 126, 'Permission denied'],
  ['is a directory', '/etc', 126, 'Permission denied'],
])('a program that %s prints an error and exits with the right status', async (_what, name, status, why) => {
  const { stderr, said } = await runProgram([name, 'argument'])
  expect(await text(stderr)).toBe(`cannot run ${name}: ${why}\n`)
  expect(await said).toBe(`exit ${status}\n`)
})

test('a script without an interpreter line is not executable', async () => {
  const script = join(tempDir(), 'script')
  writeFileSync(script, 'echo ran\n', { mode: 0o755 })
  const { stderr, said } = await runProgram([script])
  expect(await text(stderr)).toContain('Exec format error')
  expect(await said).toBe('exit 126\n')
})

test('a program is found through PATH and gets its arguments unchanged', async () => {
  const { stdout, said } = await runProgram(['printf', '[%s]', '', 'a b', '$HOME', 'ü'])
  expect(await text(stdout)).toBe('[][a b][$HOME][ü]')
  expect(await said).toBe('exit 0\n')
})

test('32 MB pass unchanged in both directions', async () => {
  const data = randomBytes(32 * 2 ** 20)
  const { stdin, stdout, said } = await runProgram(['cat'])
  stdin.end(data)
  const hash = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
  expect(hash(await buffer(stdout))).toBe(hash(data))
  expect(await said).toBe('exit 0\n')
})

test('standard output and standard error are separate', async () => {
  const { stdout, stderr } = await sh('echo out; echo err >&2')
  expect(await Promise.all([text(stdout), text(stderr)])).toEqual(['out\n', 'err\n'])
})

test('each direction ends independently', async () => {
  const { stdin, stdout, stderr, said } = await sh('exec >&-; cat >&2; echo end >&2')
  // Its output has ended, but it still reads.
  expect(await text(stdout)).toBe('')
  stdin.end('said\n')
  expect(await text(stderr)).toBe('said\nend\n')
  expect(await said).toBe('exit 0\n')
})

test('a program without input reads the end immediately', async () => {
  const { stdout } = await runProgram(['wc', '-c'], false)
  expect((await text(stdout)).trim()).toBe('0')
})

test('standard streams can be reopened through /dev, even after their other end was closed', async () => {
  const { stdin, stdout, stderr } = await sh(
    'read line; cat /dev/stdin; echo "$line" >/dev/stdout; echo err >/dev/stderr',
  )
  stdin.end('line\n')
  expect(await Promise.all([text(stdout), text(stderr)])).toEqual(['line\n', 'err\n'])
})

test('a writer to a program that has closed its input gets EPIPE', async () => {
  const { stdin, stdout } = await sh('exec <&-; echo closed; sleep 30')
  await new Promise((resolve) => stdout.once('data', resolve))
  const failed = new Promise((resolve) => stdin.once('error', resolve))
  // The runner may keep its end of the pipe open for a moment longer.
  const writing = setInterval(() => stdin.write('x'), 10)
  onTestFinished(() => clearInterval(writing))
  expect(await failed).toMatchObject({ code: 'EPIPE' })
})

test('a program without a reader gets SIGPIPE', async () => {
  const { stdout, said } = await runProgram(['cat', '/dev/zero'])
  stdout.destroy()
  expect(await said).toBe(`signal ${constants.signals.SIGPIPE} 0\n`)
})

test('a signal reaches the program and its children, but not the runner', async () => {
  const { stdout, server, said } = await sh(
    'trap "wait; exit 9" TERM; (trap "echo child; exit" TERM; echo ready; while :; do sleep 0.1; done) & wait',
  )
  let seen = ''
  stdout.on('data', (chunk: Buffer) => (seen += chunk.toString()))
  await waitFor('the program', () => seen.includes('ready'))
  server.write(`signal ${constants.signals.SIGTERM}\n`)
  expect(await said).toBe('exit 9\n')
  expect(seen).toBe('ready\nchild\n')
})

test('the end of the server’s connection hangs up the group, including stopped programs', async () => {
  const { stdout, server, said } = await sh('echo ready; kill -STOP $$; sleep 30')
  await new Promise((resolve) => stdout.once('data', resolve))
  server.end()
  expect(await said).toBe(`signal ${constants.signals.SIGHUP} 0\n`)
})

test('an invalid command counts as the end of the server’s connection', async () => {
  const { stdout, server, said } = await sh('echo ready; sleep 30')
  await new Promise((resolve) => stdout.once('data', resolve))
  server.write('signal 0\n')
  expect(await said).toBe(`signal ${constants.signals.SIGHUP} 0\n`)
})

test('the runner waits for a program that ignores the hangup', async () => {
  const { stdin, stdout, server, said } = await sh('trap "" HUP; echo ready; read line; exit 3')
  await new Promise((resolve) => stdout.once('data', resolve))
  server.end()
  stdin.end()
  expect(await said).toBe('exit 3\n')
})

test.each(['the stream by which the engine started it', 'the server’s connection'])(
  'a program outlives a launcher that ends by %s',
  async (what) => {
    const { process: launcher, launcherServer, ...program } = await sh('echo ready; read line; echo "$line"')
    await new Promise((resolve) => program.stdout.once('data', resolve))
    if (what.startsWith('the server')) launcherServer.destroy()
    else launcher.stdin?.end()
    program.stdin.end('line\n')
    expect([await text(program.stdout), await program.said]).toEqual(['line\n', 'exit 0\n'])
    launcherServer.destroy()
    expect(await program.ended).toBe(0)
  },
)

test('a launcher starts many programs, in parallel and in sequence, each with its own environment', async () => {
  const { launcherServer, meet } = await metLauncher()
  const start = async (index: number) => {
    const word = index.toString(16).padStart(32, '0')
    launcherServer.write(
      runCommand([`N=${index}`, 'PATH=/bin', 'sh', '-c', 'echo $N $PATH'], { word, variables: 2 }),
    )
    return word
  }
  const expected = new Map<string, number>()
  for (let index = 0; index < 50; index++) expected.set(await start(index), index)
  for (let count = 0; count < 50; count++) {
    const { server, word } = await meet()
    const { stdin, stdout, stderr } = openPipes(true, (ends) => sendDescriptors(server, ends))
    expect(await text(stdout)).toBe(`${expected.get(word)} /bin\n`)
    for (const stream of [stdin, stderr]) stream.destroy()
    expected.delete(word)
  }
  expect(expected.size).toBe(0)
})

test('a launcher whose runner is refused leaves no child behind', async () => {
  const { process: launcher, launcherServer } = await metLauncher()
  launcherServer.write(runCommand(['true'], { name: 'd'.repeat(32) }))
  const [line] = (await once(launcherServer, 'data')) as [Buffer]
  expect(line.toString()).toBe(`refused ${RUNNER_WORD} ${constants.errno.ENOENT}\n`)
  const children = `/proc/${launcher.pid}/task/${launcher.pid}/children`
  await waitFor('the runner’s end', () => readFileSync(children, 'utf8') === '')
})

test('a program inherits its streams, no other descriptor and no blocked signal', async () => {
  const script = 'ls -l /proc/self/fd; grep Sig[BI] /proc/self/status; ps -o sid= -p $$; echo $$'
  const { stdout } = await sh(script)
  const listing = await text(stdout)
  const targets = (output: string) => [...output.matchAll(/ (\d+ -> \S+)/g)].map((match) => match[1] ?? '')
  // Descriptors that this process passes on to all its children do not count.
  const inherited = targets(execFileSync('/bin/sh', ['-c', script], { encoding: 'utf8' }))
  const own = targets(listing).filter((each) => !/\/proc\/\d+\/fd$/.test(each) && !inherited.includes(each))
  expect(own.map((each) => each.replace(/\d+\]$/, ']'))).toEqual([
    '0 -> pipe:[]',
    '1 -> pipe:[]',
    '2 -> pipe:[]',
  ])
  expect(listing).toMatch(/SigBlk:\t0{16}\n/)
  expect(listing).toMatch(/SigIgn:\t0{16}\n/)
  const [session, pid] = listing.trim().split('\n').slice(-2)
  expect(session?.trim()).toBe(pid)
})

test('a program’s name is in the process list only once', async () => {
  const { stdout } = await sh('echo ready; tr "\\0" " " </proc/$PPID/cmdline # a-mark-of-its-own')
  expect(await text(stdout)).toMatch(/^ready\n\S*workspace-run $/)
})

test('the runner keeps none of the program’s streams open', async () => {
  const { process: launcher, stdout } = await sh('echo ready; exec >&-; sleep 30')
  expect(await text(stdout)).toBe('ready\n')
  expect(launcher.exitCode).toBe(null)
})

describe('a runner starts nothing', () => {
  const refusal = async (refused: Promise<Buffer[]>) => (await refused).toString()

  test('when the server sends no pipes', async () => {
    const { launcherServer, meet } = await metLauncher()
    const refused = once(launcherServer, 'data') as Promise<Buffer[]>
    launcherServer.write(runCommand(['echo', 'ran']))
    const { server, word } = await meet()
    expect(word).toBe(RUNNER_WORD)
    server.end()
    expect(await refusal(refused)).toBe(`refused ${RUNNER_WORD} ${constants.errno.ECONNRESET}\n`)
  })

  test('with only one pipe', async () => {
    const { launcherServer, meet } = await metLauncher()
    const refused = once(launcherServer, 'data') as Promise<Buffer[]>
    launcherServer.write(runCommand(['echo', 'ran']))
    sendDescriptors((await meet()).server, [0])
    expect(await refusal(refused)).toBe(`refused ${RUNNER_WORD} ${constants.errno.EPROTO}\n`)
  })
})

describe('a launcher ends', () => {
  test('with an argument', async () => {
    expect(await (await startLauncher('true')).ended).toBe(64)
  })

  test.each([
    ['has no program', runCommand([])],
    ['has only variables', runCommand(['A=1'], { variables: 1 })],
    ['does not end with a string', runCommand(['true'], { size: 4 })],
    ['is too long', runCommand(['true'], { size: 2 ** 21 + 1 })],
    ['is a runner’s command', 'signal 15\n'],
  ])('with a request that %s', async (_what, command) => {
    const { launcherServer, ended } = await metLauncher()
    launcherServer.write(command)
    expect(await ended).toBe(0)
  })

  test.each([
    ['is invalid', 'go'],
    ['is too long', `meet ${'a'.repeat(400)}`],
    ['would leave the directory', `meet ../../../../../../../../../../tmp/aa ${WORD}`],
    ['has a name in upper case', `meet ${MEETING.toUpperCase()} ${WORD}`],
    ['has no word', `meet ${MEETING}`],
    ['arrives too early', 'signal 15'],
  ])('for a command that %s', async (_what, command) => {
    const launcher = await startLauncher()
    launcher.command(command)
    expect([await launcher.ended, await launcher.output]).toEqual([70, ''])
  })

  test('and reports the error when there is no server to meet', async () => {
    const launcher = await startLauncher()
    launcher.command(`meet ${'c'.repeat(32)} ${WORD}`)
    expect([await launcher.ended, await launcher.output]).toEqual([70, `error ${constants.errno.ENOENT}\n`])
  })

  test('when the engine’s stream ends before a command', async () => {
    const launcher = await startLauncher()
    launcher.process.stdin?.end()
    expect([await launcher.ended, await launcher.output]).toEqual([70, ''])
  })
})
