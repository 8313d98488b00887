import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { packageRoot } from '../../../../src/lib/process/package.ts'
import { run, type RunResult } from '../../../../src/lib/process/run.ts'
import { compileCache } from '../../compile-cache.ts'
import { tempDir } from '../../temp-dir.ts'

/** The command line as run from a checkout. */
export const CLI = [process.execPath, join(packageRoot, 'src/bin/workspace.ts')] as const

/** A user's environment with a separate home and nothing of the tester's. */
export function userEnvironment(extra: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const home = tempDir()
  return {
    ...compileCache,
    PATH: process.env['PATH'],
    HOME: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    ...extra,
  }
}

/** Runs `workspace …` until it exits, with piped output. */
export function workspaceCli(
  argv: readonly string[],
  environment: NodeJS.ProcessEnv = userEnvironment(),
): Promise<RunResult> {
  const [node, program] = CLI
  return run(node, [program, ...argv], { environment })
}

/** Runs `workspace …` on a terminal and returns everything the terminal received. */
export async function workspaceCliOnTerminal(
  argv: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<string> {
  const line = [...CLI, ...argv].map((word) => `'${word}'`).join(' ')
  const { stdout } = await run('script', ['-qec', line, '/dev/null'], { environment })
  return stdout
}

/** Starts `workspace …` and collects its output; it does not outlive the test. */
export function spawnCli(argv: readonly string[], environment: NodeJS.ProcessEnv) {
  const [node, program] = CLI
  const child = spawn(node, [program, ...argv], { env: environment, stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const exit = once(child, 'close').then(([status]) => status as number | null)
  return { child, exit, stdout: () => stdout, stderr: () => stderr }
}

/** Starts `workspace serve` and resolves once it is ready; it does not outlive the test. */
export async function serveCli(
  environment: NodeJS.ProcessEnv,
  flags: readonly string[] = [],
): Promise<{
  readonly child: ChildProcess
  readonly httpPort: number
  readonly exit: Promise<number | null>
  readonly stdout: () => string
  readonly log: () => string
}> {
  const [node, program] = CLI
  const argv = [program, 'serve', '--http-port', '0', '--ssh-port', '0', '--state-dir', tempDir(), ...flags]
  const child = spawn(node, argv, { env: environment, stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  // After its output has been read.
  const exit = once(child, 'close').then(([status]) => status as number | null)
  let stdout = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  let log = ''
  const httpPort = await new Promise<number>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text
      const ready = /"http":(\d+).*is ready/.exec(log)
      if (ready) resolve(Number(ready[1]))
    })
    void exit.then((status) => reject(new Error(`serve ended with status ${status}: ${log}`)))
  })
  return { child, httpPort, exit, stdout: () => stdout, log: () => log }
}
