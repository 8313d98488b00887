import { type ChildProcess, spawn } from 'node:child_process'
import { copyFileSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import { findRunner, RUNNER } from '../../src/native/runner.ts'
import { ProgramPipes, type ProgramStreams } from '../../src/workspace/backend/docker/program-pipes.ts'

/** The runner on this machine, with its FIFOs in a directory of the test's own. */
export interface Runner {
  readonly process: ChildProcess
  readonly directory: string
  /** What it says, line by line. */
  readonly said: readonly string[]
  readonly say: (order: string) => void
  /** The exit status, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>
}

/** Starts it for a program; nothing is opened yet. A build with sanitizers can be put in its place. */
export function startRunner(...argv: readonly string[]): Runner {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'runner-')))
  const file = join(directory, RUNNER)
  const built = process.env['WORKSPACE_TEST_RUNNER'] ?? findRunner()
  if (built === undefined) throw new Error('the runner is not built: npm run build:native')
  copyFileSync(built, file)
  const child = spawn(file, argv, { stdio: ['pipe', 'pipe', 'inherit'], detached: true })
  onTestFinished(() => {
    child.kill('SIGKILL')
    rmSync(directory, { recursive: true, force: true })
  })
  const said: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => said.push(line))
  child.stdin.on('error', () => undefined)
  const ended = new Promise<number | NodeJS.Signals>((resolve) =>
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'SIGKILL')),
  )
  return { process: child, directory, said, say: (order) => void child.stdin.write(`${order}\n`), ended }
}

/** Starts a program by it and joins its streams. */
export async function runProgram(
  ...argv: readonly string[]
): Promise<Runner & { readonly streams: ProgramStreams }> {
  const runner = startRunner(...argv)
  const pipes = new ProgramPipes(runner.directory, true)
  runner.say(`open ${pipes.id} 1`)
  await new Promise<void>((resolve) => runner.process.stdout?.once('data', () => resolve()))
  const streams = pipes.open()
  onTestFinished(() => {
    for (const stream of Object.values(streams) as ProgramStreams['stdout'][]) stream.destroy()
  })
  runner.say('go')
  return { ...runner, streams }
}
