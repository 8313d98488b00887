import { type ChildProcess, fork, type ForkOptions, spawn, type SpawnOptions } from 'node:child_process'
import { realpathSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { callFilter } from './call-filter.ts'
import { nodeFiles } from './node-files.ts'
import { sandboxed, type SandboxOptions } from './sandbox.ts'

type Stream = 'ignore' | 'pipe' | 'ipc' | number

/**
 * Starts a program in a sandbox with the system call filter. Callers check `sandboxMissing` first, and end it by its process group
 * (`endGroup`): bubblewrap has a child that does not follow its end at first, and would stay for good if it was killed alone then.
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
 * Starts a module of this package on Node in a sandbox with the system call filter, as `fork` does: messages pass both ways. It gets
 * none of this process's environment but the path, which may hold secrets. It is ended by its group, as that of `spawnSandboxed`.
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
  // A bubblewrap that did not start says so by its own error.
  const pipe = child.stdio[stdio.length] as Writable | null | undefined
  pipe?.on('error', () => undefined).end(filter)
  return child
}
