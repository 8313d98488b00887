import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { sendDescriptors } from '../../src/native/pipe.ts'
import { MEETING, runProgram, startRunner, WORD } from '../support/runner.ts'
import { tempDir } from '../support/temp-dir.ts'
import { waitFor } from '../support/wait-for.ts'

const sh = (script: string) => runProgram(['/bin/sh', '-c', script])

test.each([0, 1, 7, 126, 255])('the runner tells exit status %i and ends with it', async (status) => {
  const { said, ended, output } = await sh(`exit ${status}`)
  expect(await ended).toBe(status)
  expect([await said, await output]).toEqual([`exit ${status}\n`, ''])
})

const ENDING = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGKILL', 'SIGUSR1', 'SIGPIPE', 'SIGTERM', 'SIGXCPU'] as const

test.each(ENDING)('the runner tells %s and that no core was left', async (name) => {
  const { said, ended } = await sh(`ulimit -c 0; kill -${name.slice(3)} $$`)
  expect(await ended).toBe(128 + constants.signals[name])
  expect(await said).toBe(`signal ${constants.signals[name]} 0\n`)
})

test('the runner tells that a core was left', async () => {
  const { said } = await sh('ulimit -c unlimited; cd "$(mktemp -d)"; kill -SEGV $$')
  // Where the kernel hands cores to a program, it tells so whether or not that program keeps them.
  expect(await said).toBe(`signal ${constants.signals.SIGSEGV} 1\n`)
})

test.each([
  ['does not exist', '/no/such/program', 127, 'No such file or directory'],
  ['is below a file', '/etc/passwd/program', 127, 'Not a directory'],
  ['is nowhere on the path', 'no-such-program', 127, 'No such file or directory'],
  ['may not be run', '/etc/passwd', 126, 'Permission denied'],
  ['is a directory', '/etc', 126, 'Permission denied'],
])('a program that %s says so and ends with its own status', async (_what, name, status, why) => {
  const { stderr, ended } = await runProgram([name, 'argument'])
  expect(await text(stderr)).toBe(`cannot run ${name}: ${why}\n`)
  expect(await ended).toBe(status)
})

test('a script that names no interpreter is none', async () => {
  const script = join(tempDir(), 'script')
  writeFileSync(script, 'echo ran\n', { mode: 0o755 })
  const { stderr, ended } = await runProgram([script])
  expect(await text(stderr)).toContain('Exec format error')
  expect(await ended).toBe(126)
})

test('a program is found by the path, and gets its arguments as they are', async () => {
  const { stdout, ended } = await runProgram(['printf', '[%s]', '', 'a b', '$HOME', 'ü'])
  expect(await text(stdout)).toBe('[][a b][$HOME][ü]')
  expect(await ended).toBe(0)
})

test('32 MB pass both ways unchanged', async () => {
  const data = randomBytes(32 * 2 ** 20)
  const { stdin, stdout, ended } = await runProgram(['cat'])
  stdin.end(data)
  const hash = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
  expect(hash(await buffer(stdout))).toBe(hash(data))
  expect(await ended).toBe(0)
})

test('standard output and standard error stay apart', async () => {
  const { stdout, stderr } = await sh('echo out; echo err >&2')
  expect(await Promise.all([text(stdout), text(stderr)])).toEqual(['out\n', 'err\n'])
})

test('each direction ends by itself', async () => {
  const { stdin, stdout, stderr, ended } = await sh('exec >&-; cat >&2; echo end >&2')
  // Its output has ended while it still reads.
  expect(await text(stdout)).toBe('')
  stdin.end('said\n')
  expect(await text(stderr)).toBe('said\nend\n')
  expect(await ended).toBe(0)
})

test('a program without input reads an end at once', async () => {
  const { stdout } = await runProgram(['wc', '-c'], false)
  expect((await text(stdout)).trim()).toBe('0')
})

test('standard streams can be opened anew by their names in /dev, also after their other end has gone', async () => {
  const { stdin, stdout, stderr } = await sh(
    'read line; cat /dev/stdin; echo "$line" >/dev/stdout; echo err >/dev/stderr',
  )
  stdin.end('line\n')
  expect(await Promise.all([text(stdout), text(stderr)])).toEqual(['line\n', 'err\n'])
})

test('who writes to a program that has closed its input gets EPIPE', async () => {
  const { stdin, stdout } = await sh('exec <&-; echo closed; sleep 30')
  await new Promise((resolve) => stdout.once('data', resolve))
  const failed = new Promise((resolve) => stdin.once('error', resolve))
  // The runner may hold its own end of the pipe for a moment longer.
  const writing = setInterval(() => stdin.write('x'), 10)
  onTestFinished(() => clearInterval(writing))
  expect(await failed).toMatchObject({ code: 'EPIPE' })
})

test('a program whose reader has gone gets SIGPIPE', async () => {
  const { stdout, said } = await runProgram(['cat', '/dev/zero'])
  stdout.destroy()
  expect(await said).toBe(`signal ${constants.signals.SIGPIPE} 0\n`)
})

test('a signal reaches the program and its children, and not the runner', async () => {
  const { stdout, server, ended } = await sh(
    'trap "wait; exit 9" TERM; (trap "echo child; exit" TERM; echo ready; while :; do sleep 0.1; done) & wait',
  )
  let seen = ''
  stdout.on('data', (chunk: Buffer) => (seen += chunk.toString()))
  await waitFor('the program', () => seen.includes('ready'))
  server.write(`signal ${constants.signals.SIGTERM}\n`)
  expect(await ended).toBe(9)
  expect(seen).toBe('ready\nchild\n')
})

test('the end of what the server says hangs the group up, a stopped program too', async () => {
  const { stdout, server, said, ended } = await sh('echo ready; kill -STOP $$; sleep 30')
  await new Promise((resolve) => stdout.once('data', resolve))
  server.end()
  expect(await ended).toBe(129)
  expect(await said).toBe(`signal ${constants.signals.SIGHUP} 0\n`)
})

test('what no server says is taken for its end', async () => {
  const { stdout, server, ended } = await sh('echo ready; sleep 30')
  await new Promise((resolve) => stdout.once('data', resolve))
  server.write('signal 0\n')
  expect(await ended).toBe(129)
})

test('a program that heeds no hangup is waited for', async () => {
  const { stdin, stdout, server, said } = await sh('trap "" HUP; echo ready; read line; exit 3')
  await new Promise((resolve) => stdout.once('data', resolve))
  server.end()
  stdin.end()
  expect(await said).toBe('exit 3\n')
})

test('a program outlives the stream by which the engine started its runner', async () => {
  const { process: runner, stdin, stdout, said } = await sh('echo ready; read line; echo "$line"')
  await new Promise((resolve) => stdout.once('data', resolve))
  runner.stdin?.end()
  stdin.end('line\n')
  expect([await text(stdout), await said]).toEqual(['line\n', 'exit 0\n'])
})

test('a program has its streams and nothing else of the runner’s, and no signal held back', async () => {
  const script = 'ls -l /proc/self/fd; grep Sig[BI] /proc/self/status; ps -o sid= -p $$; echo $$'
  const { stdout } = await sh(script)
  const listing = await text(stdout)
  const targets = (output: string) => [...output.matchAll(/ (\d+ -> \S+)/g)].map((match) => match[1] ?? '')
  // What this process passes on to all its children is none of the runner's.
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

test('what a program is called stands in the process list once', async () => {
  const { process: runner, stdout } = await sh('echo ready; read line # a-mark-of-its-own')
  await new Promise((resolve) => stdout.once('data', resolve))
  // The program may have spoken before the runner has given up its own arguments.
  await vi.waitFor(() =>
    expect(readFileSync(`/proc/${runner.pid}/cmdline`, 'utf8').replaceAll('\0', '')).toBe('workspace-run'),
  )
})

test('the runner keeps none of the program’s streams', async () => {
  const { process: runner, stdout } = await sh('echo ready; exec >&-; sleep 30')
  expect(await text(stdout)).toBe('ready\n')
  expect(runner.exitCode).toBe(null)
})

describe('a runner starts nothing', () => {
  test('without a program', async () => {
    expect(await (await startRunner()).ended).toBe(64)
  })

  test.each([
    ['is none', 'go'],
    ['is longer than any', `meet ${'a'.repeat(400)}`],
    ['would lead out of the directory', `meet ../../../../../../../../../../tmp/aa ${WORD}`],
    ['has a name in other letters', `meet ${MEETING.toUpperCase()} ${WORD}`],
    ['has no word', `meet ${MEETING}`],
    ['comes too early', 'signal 15'],
  ])('for an order that %s', async (_what, order) => {
    const runner = await startRunner('echo', 'ran')
    runner.order(order)
    expect([await runner.ended, await runner.output]).toEqual([70, ''])
  })

  test('where there is no server to meet, and tells the error', async () => {
    const runner = await startRunner('echo', 'ran')
    runner.order(`meet ${'c'.repeat(32)} ${WORD}`)
    expect([await runner.ended, await runner.output]).toEqual([70, `error ${constants.errno.ENOENT}\n`])
  })

  test('when the server gives it no pipes', async () => {
    const runner = await startRunner('echo', 'ran')
    runner.order(`meet ${MEETING} ${WORD}`)
    const { server, word } = await runner.met
    expect(word).toBe(WORD)
    server.end()
    expect([await runner.ended, await runner.output]).toEqual([70, `error ${constants.errno.ECONNRESET}\n`])
  })

  test('with one pipe alone', async () => {
    const runner = await startRunner('echo', 'ran')
    runner.order(`meet ${MEETING} ${WORD}`)
    sendDescriptors((await runner.met).server, [0])
    expect([await runner.ended, await runner.output]).toEqual([70, `error ${constants.errno.EPROTO}\n`])
  })

  test('when the engine’s stream ends before it has an order', async () => {
    const runner = await startRunner('echo', 'ran')
    runner.process.stdin?.end()
    expect([await runner.ended, await runner.output]).toEqual([70, ''])
  })
})
