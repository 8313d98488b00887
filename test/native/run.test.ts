import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { RUNNER } from '../../src/native/runner.ts'
import { ProgramPipes } from '../../src/workspace/backend/docker/program-pipes.ts'
import { runProgram, startRunner } from '../support/runner.ts'
import { waitFor } from '../support/wait-for.ts'

const sh = (script: string) => runProgram('/bin/sh', '-c', script)
const last = (said: readonly string[]) => said.at(-1)

test.each([0, 1, 7, 126, 255])('the runner tells exit status %i and ends with it', async (status) => {
  const { said, ended } = await sh(`exit ${status}`)
  expect(await ended).toBe(status)
  expect(said).toEqual(['ready', `exit ${status}`])
})

const ENDING = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGKILL', 'SIGUSR1', 'SIGPIPE', 'SIGTERM', 'SIGXCPU'] as const

test.each(ENDING)('the runner tells %s and that no core was left', async (name) => {
  const { said, ended } = await sh(`ulimit -c 0; kill -${name.slice(3)} $$`)
  expect(await ended).toBe(128 + constants.signals[name])
  expect(last(said)).toBe(`signal ${constants.signals[name]} 0`)
})

test('the runner tells that a core was left', async () => {
  const { said, ended } = await sh('ulimit -c unlimited; cd "$(mktemp -d)"; kill -SEGV $$')
  await ended
  // Where the kernel hands cores to a program, it tells so whether or not that program keeps them.
  expect(last(said)).toBe(`signal ${constants.signals.SIGSEGV} 1`)
})

test('a program that does not exist ends with 127 and says why', async () => {
  const { streams, ended } = await runProgram('/no/such/program')
  expect(await text(streams.stderr)).toBe('cannot run /no/such/program: No such file or directory\n')
  expect(await ended).toBe(127)
})

test('a name that is nowhere on the path ends with 127', async () => {
  const { streams, ended } = await runProgram('no-such-program')
  expect(await text(streams.stderr)).toContain('cannot run no-such-program')
  expect(await ended).toBe(127)
})

test('a file that may not be run ends with 126', async () => {
  const { streams, ended } = await runProgram('/etc/passwd')
  expect(await text(streams.stderr)).toBe('cannot run /etc/passwd: Permission denied\n')
  expect(await ended).toBe(126)
})

test('a script that names no interpreter is none', async () => {
  const runner = startRunner('placeholder')
  const script = join(runner.directory, 'script')
  writeFileSync(script, 'echo ran\n')
  chmodSync(script, 0o755)
  const { streams, ended } = await runProgram(script)
  expect(await text(streams.stderr)).toContain('Exec format error')
  expect(await ended).toBe(126)
})

test('a program is found by the path, and gets its arguments as they are', async () => {
  const { streams, ended } = await runProgram('printf', '[%s]', '', 'a b', '$HOME', 'ü')
  expect(await text(streams.stdout)).toBe('[][a b][$HOME][ü]')
  expect(await ended).toBe(0)
})

test('32 MB pass both ways unchanged', async () => {
  const data = randomBytes(32 * 2 ** 20)
  const { streams, ended } = await runProgram('cat')
  streams.stdin.end(data)
  const hash = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
  expect(hash(await buffer(streams.stdout))).toBe(hash(data))
  expect(await ended).toBe(0)
})

test('standard output and standard error stay apart', async () => {
  const { streams } = await sh('echo out; echo err >&2')
  expect(await Promise.all([text(streams.stdout), text(streams.stderr)])).toEqual(['out\n', 'err\n'])
})

test('each direction ends by itself', async () => {
  const { streams, ended } = await sh('exec >&-; read line; echo "$line" >&2; read line || echo end >&2')
  // Its output has ended while it still reads, and its input ends while it still writes.
  expect(await text(streams.stdout)).toBe('')
  streams.stdin.write('said\n')
  streams.stdin.end()
  expect(await text(streams.stderr)).toBe('said\nend\n')
  expect(await ended).toBe(0)
})

test('a program without input reads an end at once', async () => {
  const runner = startRunner('wc', '-c')
  const pipes = new ProgramPipes(runner.directory, false)
  runner.say(`open ${pipes.id} 0`)
  await waitFor('the runner', () => runner.said.includes('ready'))
  const { stdout } = pipes.open()
  runner.say('go')
  expect((await text(stdout)).trim()).toBe('0')
})

test('who writes to a program that has closed its input gets EPIPE', async () => {
  const { streams } = await sh('exec <&-; echo closed; sleep 30')
  await new Promise((resolve) => streams.stdout.once('data', resolve))
  const failed = new Promise((resolve) => streams.stdin.once('error', resolve))
  streams.stdin.write('x')
  expect(await failed).toMatchObject({ code: 'EPIPE' })
})

test('a program whose reader has gone gets SIGPIPE', async () => {
  const { streams, said, ended } = await runProgram('cat', '/dev/zero')
  streams.stdout.destroy()
  await ended
  expect(last(said)).toBe(`signal ${constants.signals.SIGPIPE} 0`)
})

test('a signal reaches the program and its children, and not the runner', async () => {
  const { streams, say, ended } = await sh(
    'trap "wait; exit 9" TERM; (trap "echo child; exit" TERM; echo ready; while :; do sleep 0.1; done) & wait',
  )
  let stdout = ''
  streams.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  await waitFor('the program', () => stdout.includes('ready'))
  say(`signal ${constants.signals.SIGTERM}`)
  expect(await ended).toBe(9)
  expect(stdout).toBe('ready\nchild\n')
})

test('the end of what the server says hangs the group up, a stopped program too', async () => {
  const { streams, process, said, ended } = await sh('echo ready; kill -STOP $$; sleep 30')
  await new Promise((resolve) => streams.stdout.once('data', resolve))
  process.stdin?.end()
  expect(await ended).toBe(129)
  expect(last(said)).toBe(`signal ${constants.signals.SIGHUP} 0`)
})

test('a program that heeds no hangup is waited for', async () => {
  const { streams, process, said, ended } = await sh('trap "" HUP; echo ready; read line; exit 3')
  await new Promise((resolve) => streams.stdout.once('data', resolve))
  process.stdin?.end()
  streams.stdin.end()
  expect(await ended).toBe(3)
  expect(last(said)).toBe('exit 3')
})

test('a program has its streams and nothing else of the runner’s, and no signal held back', async () => {
  const script = 'ls -l /proc/self/fd; grep Sig.l[kg] /proc/self/status; ps -o sid= -p $$; echo $$'
  const { streams } = await sh(script)
  const output = await text(streams.stdout)
  const targets = (listing: string) => [...listing.matchAll(/ \d+ -> (\S+)/g)].map((match) => match[1] ?? '')
  // What this process passes on to its children is none of the runner's.
  const inherited = targets(execFileSync('/bin/sh', ['-c', script], { encoding: 'utf8' }))
  const own = targets(output).filter((path) => !/^\/proc\/\d+\/fd$/.test(path) && !inherited.includes(path))
  expect(own.map((path) => path.replace(/^.*\.(?=\w+$)/, '')).toSorted()).toEqual(['err', 'in', 'out'])
  expect(output).toMatch(/SigBlk:\t0{16}\n/)
  expect(output).toMatch(/SigIgn:\t0{16}\n/)
  const [session, pid] = output.trim().split('\n').slice(-2)
  expect(session?.trim()).toBe(pid)
})

test('what a program is called stands in the process list once', async () => {
  const { process, streams } = await sh('echo ready; read line # a-mark-of-its-own')
  await new Promise((resolve) => streams.stdout.once('data', resolve))
  expect(readFileSync(`/proc/${process.pid}/cmdline`, 'utf8').replaceAll('\0', '')).toBe('workspace-run')
})

test('nothing is left open after the program has gone on', async () => {
  const { process, streams } = await sh('echo ready; read line')
  await new Promise((resolve) => streams.stdout.once('data', resolve))
  const open = readdirSync(`/proc/${process.pid}/fd`).map((fd) =>
    readlinkSync(`/proc/${process.pid}/fd/${fd}`),
  )
  expect(open.filter((path) => path.includes('runner-'))).toEqual([])
})

describe('a runner starts nothing', () => {
  const started = (said: readonly string[]) => said.some((line) => line.startsWith('exit'))

  test('without a program', async () => {
    expect(await startRunner().ended).toBe(64)
  })

  test.each([
    ['names no FIFOs', 'go'],
    ['is longer than any order', `open ${'a'.repeat(400)}`],
    ['would lead out of the directory', `open ../../../../../../../../../../../tmp/aaaa 1`],
    ['has a name in other letters', `open ${'A'.repeat(32)} 1`],
    ['says nothing of the input', `open ${'a'.repeat(32)}`],
    ['is a signal too early', 'signal 15'],
  ])('for an order that %s', async (_what, order) => {
    const runner = startRunner('echo', 'ran')
    runner.say(order)
    expect(await runner.ended).toBe(70)
    expect(runner.said).toEqual([])
  })

  test('where there are no FIFOs, and tells the error', async () => {
    const runner = startRunner('echo', 'ran')
    runner.say(`open ${'a'.repeat(32)} 1`)
    expect(await runner.ended).toBe(70)
    expect(runner.said).toEqual([`error ${constants.errno.ENOENT}`])
  })

  test('where the server has closed its ends', async () => {
    const runner = startRunner('echo', 'ran')
    const pipes = new ProgramPipes(runner.directory, true)
    const path = join(runner.directory, `${pipes.id}.out`)
    expect(readdirSync(runner.directory)).toContain(`${pipes.id}.in`)
    pipes.discard()
    writeFileSync(path, 'a file and no FIFO')
    for (const suffix of ['in', 'err']) writeFileSync(join(runner.directory, `${pipes.id}.${suffix}`), '')
    runner.say(`open ${pipes.id} 1`)
    expect(await runner.ended).toBe(70)
    expect(runner.said).toEqual([`error ${constants.errno.EINVAL}`])
    expect(readFileSync(path, 'utf8')).toBe('a file and no FIFO')
  })

  test('when it is not told to', async () => {
    const runner = startRunner('echo', 'ran')
    const pipes = new ProgramPipes(runner.directory, true)
    runner.say(`open ${pipes.id} 1`)
    await waitFor('the runner', () => runner.said.includes('ready'))
    const { stdout } = pipes.open()
    runner.process.stdin?.end()
    expect(await runner.ended).toBe(70)
    expect(await text(stdout)).toBe('')
    expect(started(runner.said)).toBe(false)
  })
})

test('no name of a FIFO is left', async () => {
  const { directory, ended } = await sh('true')
  await ended
  expect(readdirSync(directory)).toEqual([RUNNER])
})
