import { type ChildProcess, spawn } from 'node:child_process'
import { copyFileSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { sendDescriptors } from '../../src/native/programs/pipe.ts'
import { findRunner, RUNNER } from '../../src/native/programs/runner.ts'
import { openPipes, type ProgramStreams } from '../../src/workspace/backend/docker/exec/program-pipes.ts'
import { waitFor } from './wait-for.ts'

/** The address where the launcher and its runners connect, and what they must send. */
export const MEETING = 'a'.repeat(32)
/** Secret that the launcher sends first. */
export const WORD = 'b'.repeat(32)
/** Secret that a runner sends first. */
export const RUNNER_WORD = 'c'.repeat(32)

interface Met {
  readonly server: Socket
  readonly word: string
}

/** The launcher on this machine, with its socket in the test's directory. */
export interface Launcher {
  readonly process: ChildProcess
  readonly directory: string
  /** Sends it a command on the engine's stream. */
  readonly command: (line: string) => void
  /** Returns the next connection and its first message. */
  readonly meet: () => Promise<Met>
  /** Returns all its output on the engine's stream. */
  readonly output: Promise<string>
  /** Resolves with the exit status or signal. */
  readonly ended: Promise<number | NodeJS.Signals>
}

/** Starts it. A build with sanitizers can replace it. */
export async function startLauncher(...argv: readonly string[]): Promise<Launcher> {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'runner-')))
  const file = join(directory, RUNNER)
  const built = process.env['WORKSPACE_TEST_RUNNER'] ?? findRunner()
  if (built === undefined) throw new Error('the runner is not built: npm run build:native')
  copyFileSync(built, file)
  const server = createServer({ allowHalfOpen: true })
  const met: Met[] = []
  server.on('connection', (connection) => {
    connection.on('error', () => undefined)
    connection.once('data', (word: Buffer) => met.push({ server: connection, word: word.toString() }))
    onTestFinished(() => void connection.destroy())
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
  const command = (line: string): void => void child.stdin.write(`${line}\n`)
  const meet = async (): Promise<Met> => {
    await waitFor('a connection', () => met.length > 0)
    return met.shift() as Met
  }
  return { process: child, directory, command, meet, output: collected(child.stdout), ended }
}

/** Starts a launcher and accepts its connection. */
export async function metLauncher() {
  const launcher = await startLauncher()
  launcher.command(`meet ${MEETING} ${WORD}`)
  const { server } = await launcher.meet()
  return { ...launcher, launcherServer: server }
}

/** Requests a program; `size` and `variables` may override the actual counts. */
export function runCommand(
  words: readonly string[],
  { name = MEETING, word = RUNNER_WORD, variables = 0, size = -1 } = {},
): string {
  const bytes = words.map((each) => `${each}\0`).join('')
  return `run ${name} ${word} ${variables} ${size < 0 ? Buffer.byteLength(bytes) : size}\n${bytes}`
}

/** Makes a launcher start a program and gives its runner pipes. */
export async function runProgram(
  argv: readonly string[],
  hasInput = true,
  environment: readonly string[] = [],
) {
  const launcher = await metLauncher()
  launcher.launcherServer.write(runCommand([...environment, ...argv], { variables: environment.length }))
  const { server } = await launcher.meet()
  const streams: ProgramStreams = openPipes(hasInput, (ends) => sendDescriptors(server, ends))
  onTestFinished(() => {
    for (const stream of [streams.stdin, streams.stdout, streams.stderr]) stream.destroy()
  })
  return { ...launcher, ...streams, server, said: collected(server) }
}

/** Reads a stream to its end. Tests that do not wait for it cut it off. */
function collected(stream: Readable): Promise<string> {
  const all = text(stream)
  all.catch(() => undefined)
  return all
}
