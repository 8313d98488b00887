import { type ChildProcess, fork, type ForkOptions, spawn, type SpawnOptions } from 'node:child_process'
import { realpathSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { callFilter } from './call-filter.ts'
import { nodeFiles } from './node-files.ts'
import { sandboxed, type SandboxOptions } from './sandbox.ts'

type Stream = 'ignore' | 'pipe' | 'ipc' | number

/**
 * Starts a program in a sandbox with the system call filter. Callers check `sandboxMissing` first and stop it by its process group
 * (`endGroup`): early on, bubblewrap's child does not exit with it and would be left behind if only bubblewrap were killed.
 */
export function spawnSandboxed(
  program: string,
  argv: readonly string[],
  sandbox: SandboxOptions,
  options: Omit<SpawnOptions, 'stdio' | 'detached'> & { readonly stdio: readonly Stream[] },
): ChildProcess {
  return filtered(sandbox, options.stdio, (inside, stdio) => {
    const [first, ...rest] = sandboxed(program, argv, inside)
    return spawn(first, rest, { ...options, stdio, detached: true })
  })
}

/**
 * Starts a module of this package on Node in a sandbox with the system call filter and a message channel like `fork`. Of this
 * process's environment, which may contain secrets, it gets only the path. Stop it by its group, like `spawnSandboxed`.
 */
export function forkSandboxed(
  module: string,
  argv: readonly string[],
  sandbox: SandboxOptions,
  options: Omit<ForkOptions, 'stdio' | 'detached'> & {
    readonly stdio: readonly Stream[]
    readonly execArgv?: readonly string[]
  },
): ChildProcess {
  const readable = [...nodeFiles(), ...(sandbox.readable ?? [])]
  return filtered({ ...sandbox, readable }, options.stdio, (inside, stdio) => {
    const [execPath, ...execArgv] = sandboxed(realpathSync(process.execPath), options.execArgv ?? [], inside)
    const env = { PATH: process.env['PATH'], LC_ALL: 'C' }
    return fork(module, [...argv], { env, ...options, stdio, execPath, execArgv, detached: true })
  })
}

function filtered(
  sandbox: SandboxOptions,
  stdio: readonly Stream[],
  start: (sandbox: SandboxOptions, stdio: Stream[]) => ChildProcess,
): ChildProcess {
  const filter = callFilter()
  const child =
    filter === undefined
      ? start(sandbox, [...stdio])
      : start({ ...sandbox, filterDescriptor: stdio.length }, [...stdio, 'pipe'])
  if (filter === undefined) return child
  // bubblewrap's own error reports a failed start.
  const pipe = child.stdio[stdio.length] as Writable | null | undefined
  pipe?.on('error', () => undefined).end(filter)
  return child
}
