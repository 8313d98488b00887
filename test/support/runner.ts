import { type ChildProcess, spawn } from 'node:child_process'
import { copyFileSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { sendDescriptors } from '../../src/native/pipe.ts'
import { findRunner, RUNNER } from '../../src/native/runner.ts'
import { openPipes, type ProgramStreams } from '../../src/workspace/backend/docker/program-pipes.ts'

/** Where the runner is to come, and what it is to say there. */
export const MEETING = 'a'.repeat(32)
export const WORD = 'b'.repeat(32)

/** The runner on this machine, with its socket in a directory of the test's own. */
export interface Runner {
  readonly process: ChildProcess
  /** Gives it an order by the stream that is the engine's. */
  readonly order: (line: string) => void
  /** The runner's connection, and what it said first. */
  readonly met: Promise<{ readonly server: Socket; readonly word: string }>
  /** All it said on the stream that is the engine's. */
  readonly output: Promise<string>
  /** The exit status, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>
}

/** Starts it for a program. A build with sanitizers can be put in its place. */
export async function startRunner(...argv: readonly string[]): Promise<Runner> {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'runner-')))
  const file = join(directory, RUNNER)
  const built = process.env['WORKSPACE_TEST_RUNNER'] ?? findRunner()
  if (built === undefined) throw new Error('the runner is not built: npm run build:native')
  copyFileSync(built, file)
  const server = createServer({ allowHalfOpen: true })
  const met = new Promise<{ server: Socket; word: string }>((resolve) => {
    server.once('connection', (connection) => {
      connection.on('error', () => undefined)
      connection.once('data', (word: Buffer) => resolve({ server: connection, word: word.toString() }))
      onTestFinished(() => void connection.destroy())
    })
  })
  await new Promise<void>((resolve) => server.listen(join(directory, MEETING), resolve))
  const child = spawn(file, argv, { stdio: ['pipe', 'pipe', 'inherit'], detached: true })
  onTestFinished(() => {
    child.kill('SIGKILL')
    server.close()
    rmSync(directory, { recursive: true, force: true })
  })
  child.stdin.on('error', () => undefined)
  const ended = new Promise<number | NodeJS.Signals>((resolve) =>
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'SIGKILL')),
  )
  const order = (line: string): void => void child.stdin.write(`${line}\n`)
  return { process: child, order, met, output: collected(child.stdout), ended }
}

/** Meets it and gives it pipes, with which it starts its program. */
export async function runProgram(argv: readonly string[], hasInput = true) {
  const runner = await startRunner(...argv)
  runner.order(`meet ${MEETING} ${WORD}`)
  const { server } = await runner.met
  const streams: ProgramStreams = openPipes(hasInput, (ends) => sendDescriptors(server, ends))
  onTestFinished(() => {
    for (const stream of [streams.stdin, streams.stdout, streams.stderr]) stream.destroy()
  })
  return { ...runner, ...streams, server, said: collected(server) }
}

/** All that a stream says. Not every test waits for it, and the test's end cuts it off. */
function collected(stream: Readable): Promise<string> {
  const all = text(stream)
  all.catch(() => undefined)
  return all
}
