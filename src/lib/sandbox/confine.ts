import { type ChildProcess, execFileSync, fork, type ForkOptions } from 'node:child_process'
import { realpathSync, statSync } from 'node:fs'
import { findConfiner } from '../../native/programs/confiner.ts'
import { isWithin } from '../fs/is-within.ts'
import { nodeFiles } from './node-files.ts'
import type { Limits } from './sandbox.ts'

/**
 * Access of a confined process that reads untrusted bytes, enforced without root: these paths and the system's libraries. It has no
 * network and cannot start or signal processes.
 */
export interface Confinement {
  /** Readable files and directory trees. */
  readonly readable: readonly string[]
  /** Directories in which it can also create, change and delete files. They must exist. */
  readonly writable: readonly string[]
  readonly limits: Omit<Limits, 'processes'>
}

/**
 * Confinement supported by this machine. `files`: includes file access, which requires Landlock; `calls`: everything else; `none`: nothing, as on
 * systems other than Linux.
 */
export type ConfinementLevel = 'files' | 'calls' | 'none'

/** Environment variables of a confined process. Others may contain secrets. */
const VARIABLES = ['PATH', 'LANG', 'LC_ALL', 'TZ', 'WORKSPACE_NATIVE'] as const

let level: ConfinementLevel | undefined

/** Returns the confinement level of this machine. Runs a program once, which takes about a millisecond. */
export function confinementLevel(): ConfinementLevel {
  level ??= askLevel()
  return level
}

function askLevel(): ConfinementLevel {
  const confiner = findConfiner()
  if (confiner === undefined) return 'none'
  return Number(execFileSync(confiner, ['--check'], { encoding: 'utf8' })) > 0 ? 'files' : 'calls'
}

/** Returns the command that runs a program confined, or the plain command if confinement is not available. */
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

/** Starts a module of this package on Node, confined, with a message channel like `fork`. It gets only VARIABLES of this process's environment. */
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

/** Paths that a confined process can reach, as of its start. */
export class ConfinedPlaces {
  readonly #confinement: Confinement
  readonly #identities: string

  constructor(confinement: Confinement) {
    this.#confinement = confinement
    this.#identities = identitiesOf(confinement.writable)
  }

  /** Whether the process can reach everything in a confinement. A replaced directory is not reachable: the kernel grants directories, not paths. */
  cover({ readable, writable }: Confinement): boolean {
    const own = this.#confinement
    return (
      writable.every((path) => isBelow(path, own.writable)) &&
      readable.every((path) => isBelow(path, [...own.readable, ...own.writable])) &&
      identitiesOf(own.writable) === this.#identities
    )
  }
}

/** Whether a path is one of the roots or below one, by name only. */
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
