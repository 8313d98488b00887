import { type ChildProcess, execFileSync, fork, type ForkOptions } from 'node:child_process'
import { realpathSync, statSync } from 'node:fs'
import { findConfiner } from '../../native/programs/confiner.ts'
import { isWithin } from '../fs/is-within.ts'
import { nodeFiles } from './node-files.ts'
import type { Limits } from './sandbox.ts'

/**
 * What a process that reads hostile bytes gets of this machine, without root and without further programs: beside these paths, the system's libraries. It has no
 * network, starts no program and no process, and signals none.
 */
export interface Confinement {
  /** Files and directories that it can read, with all below them. */
  readonly readable: readonly string[]
  /** Directories in which it can also make, change and remove files. They must exist. */
  readonly writable: readonly string[]
  readonly limits: Omit<Limits, 'processes'>
}

/**
 * How far this machine confines processes. `files`: what they read and write as well, which takes Landlock; `calls`: all but that; `none`: nothing, as on
 * systems other than Linux.
 */
export type ConfinementLevel = 'files' | 'calls' | 'none'

/** Variables that a confined process gets. Others may hold secrets. */
const VARIABLES = ['PATH', 'LANG', 'LC_ALL', 'TZ', 'WORKSPACE_NATIVE'] as const

let level: ConfinementLevel | undefined

/** Returns how far processes are confined here. Runs a program once, which takes about a millisecond. */
export function confinementLevel(): ConfinementLevel {
  level ??= askLevel()
  return level
}

function askLevel(): ConfinementLevel {
  const confiner = findConfiner()
  if (confiner === undefined) return 'none'
  return Number(execFileSync(confiner, ['--check'], { encoding: 'utf8' })) > 0 ? 'files' : 'calls'
}

/** Returns the command that runs a program confined, or the plain one where there is nothing to confine it with. */
export function confined(
  program: string,
  argv: readonly string[],
  { readable, writable, limits }: Confinement,
): readonly [string, ...string[]] {
  const confiner = findConfiner()
  if (confiner === undefined) return [program, ...argv]
  const { dataBytes, fileBytes, cpuSeconds, openFiles } = limits
  const bounds = { data: dataBytes, file: fileBytes, cpu: cpuSeconds, open: openFiles }
  return [
    confiner,
    ...readable.flatMap((path) => ['--read', path]),
    ...writable.flatMap((path) => ['--write', path]),
    ...Object.entries(bounds).flatMap(([name, value]) => [`--${name}`, String(value)]),
    '--',
    program,
    ...argv,
  ]
}

/** Starts a module of this package on Node, confined, as `fork` does: messages pass both ways. It gets nothing of this process's environment that may be secret. */
export function forkConfined(
  module: string,
  argv: readonly string[],
  confinement: Confinement,
  options: Omit<ForkOptions, 'execPath' | 'env'>,
): ChildProcess {
  const node = realpathSync(process.execPath)
  const inside = { ...confinement, readable: [...nodeFiles(), ...confinement.readable] }
  const [execPath, ...execArgv] = confined(node, options.execArgv ?? [], inside)
  return fork(module, [...argv], { ...options, env: confinedEnvironment(), execPath, execArgv })
}

/** Returns the environment of a confined process. */
export function confinedEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(VARIABLES.map((name) => [name, process.env[name]]))
}

/** The places that a confined process can reach, as they were when it started. */
export class ConfinedPlaces {
  readonly #confinement: Confinement
  readonly #identities: string

  constructor(confinement: Confinement) {
    this.#confinement = confinement
    this.#identities = identitiesOf(confinement.writable)
  }

  /** Whether the process can reach all that a confinement allows. One directory in another's place is not reached any more: the kernel goes by directories, not paths. */
  cover({ readable, writable }: Confinement): boolean {
    const own = this.#confinement
    return (
      writable.every((path) => isBelow(path, own.writable)) &&
      readable.every((path) => isBelow(path, [...own.readable, ...own.writable])) &&
      identitiesOf(own.writable) === this.#identities
    )
  }
}

/** Whether a path is one of the roots or below one, by their names alone. */
export function isBelow(path: string, roots: readonly string[]): boolean {
  return roots.some((root) => isWithin(path, root))
}

function identitiesOf(paths: readonly string[]): string {
  return paths.map(identityOf).join(' ')
}

function identityOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true })
  return found === undefined ? '-' : `${found.dev}:${found.ino}`
}
