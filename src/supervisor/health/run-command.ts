import { spawn } from 'node:child_process'
import { endGroup } from '../../lib/process/end-group.ts'

const MAX_OUTPUT_BYTES = 4_096

/** Working directory, environment and user of a command. */
export interface CommandPlace {
  readonly cwd: string
  readonly environment: Readonly<Record<string, string>>
  readonly user: { readonly uid: number; readonly gid: number } | undefined
}

/** Result of a command. */
export interface CommandResult {
  readonly isDone: boolean
  readonly output: string
}

/** Runs a command from a process's settings. It is killed, with everything it started, when the signal aborts. */
export function runCommand(
  command: string | readonly string[],
  { cwd, environment, user }: CommandPlace,
  signal: AbortSignal,
): Promise<CommandResult> {
  const [program = '', ...argv] = typeof command === 'string' ? ['/bin/sh', '-c', command] : command
  return new Promise((resolve, reject) => {
    const child = spawn(program, argv, {
      cwd,
      env: { ...environment },
      // A separate group, so that everything it starts is killed with it.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...user,
    })
    const end = (): void => {
      endGroup(child.pid, 'SIGKILL')
      reject(new Error('the command was stopped'))
    }
    signal.addEventListener('abort', end, { once: true })
    let output = ''
    const take = (text: string): void => {
      if (output.length < MAX_OUTPUT_BYTES) output += text
    }
    child.stdout.setEncoding('utf8').on('data', take)
    child.stderr.setEncoding('utf8').on('data', take)
    child.on('error', reject)
    child.on('exit', (code, by) => {
      signal.removeEventListener('abort', end)
      const how =
        code === 0 ? '' : `the command exited with ${by === null ? `status ${code}` : `signal ${by}`}`
      const finish = (): void => {
        // Background processes may keep its output open.
        child.stdout.destroy()
        child.stderr.destroy()
        resolve({ isDone: code === 0, output: output.trimEnd() || how })
      }
      // An exit can be noticed before what was printed earlier: that is read by the second turn.
      setImmediate(() => setImmediate(finish))
    })
  })
}
