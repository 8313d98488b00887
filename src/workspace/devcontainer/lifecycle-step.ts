import { type Findings, isObject, kindOf, pathOf, refuseMore, textOf } from './findings.ts'

/** Programs of a step run concurrently. */
const MAX_COMMANDS = 32

/** Commands of a devcontainer.json in execution order. */
export const COMMANDS = [
  'onCreateCommand',
  'updateContentCommand',
  'postCreateCommand',
  'postStartCommand',
  'postAttachCommand',
] as const
/** Command of a devcontainer.json. */
export type LifecycleCommand = (typeof COMMANDS)[number]

/** A command with its programs, named if the file names them. */
export interface LifecycleStep {
  readonly command: LifecycleCommand
  readonly programs: readonly Preparation[]
  /** Whether it has an entry that cannot run, which counts as a failed program. */
  readonly isInvalid: boolean
}

/** A program that prepares a workspace, run inside it once. */
export interface Preparation {
  readonly name: string
  readonly argv: readonly string[]
  /** Defaults to the workspace's user. */
  readonly user?: string
  /** Defaults to the workspace's directory; another one only where an image is built. */
  readonly directory?: string
  readonly environment?: Readonly<Record<string, string>>
  /** Content of its standard input; it has none if absent. */
  readonly input?: Buffer
}

/**
 * Reads a command, which is a text for a shell, a list, or an object of both; undefined if it has nothing to
 * run. As in the official CLI, another value is ignored, but one in an object or a list fails its command.
 */
export function stepOf(
  command: LifecycleCommand,
  value: unknown,
  { invalid }: Findings,
): LifecycleStep | undefined {
  if (value === undefined || (typeof value === 'string' && value.trim() === '')) return undefined
  if (typeof value !== 'string' && !Array.isArray(value) && !isObject(value)) {
    invalid.push(`${command} is ${kindOf(value)}, not a text, a list or an object, and is ignored`)
    return undefined
  }
  const isNamed = isObject(value)
  const given: readonly (readonly [string, unknown])[] = isNamed
    ? Object.entries(value)
    : [[command, value] as const]
  refuseMore(command, 'commands', given.length, MAX_COMMANDS)
  if (given.length === 0 || (Array.isArray(value) && value.length === 0)) return undefined
  const programs = given.map(([name, each]) => {
    const argv = argvOf(each)
    if (typeof argv !== 'string') return { name, argv }
    const path = isNamed ? pathOf(command, name) : command
    invalid.push(`${path} ${argv}, so ${command} fails and the commands after it are skipped`)
    return undefined
  })
  return {
    command,
    programs: programs.filter((each) => each !== undefined),
    isInvalid: programs.includes(undefined),
  }
}

/** Returns program and arguments, or what is wrong. A text is run by a shell, a list as it is. */
function argvOf(value: unknown): readonly string[] | string {
  if (typeof value !== 'string' && !Array.isArray(value))
    return `is ${kindOf(value)}, not a text or a list of texts`
  const argv = typeof value === 'string' ? ['/bin/sh', '-c', value] : value.map(textOf)
  if (argv.length === 0) return 'is an empty list'
  if (argv.some((each) => each?.includes('\0'))) return 'contains a NUL byte'
  const texts = argv.filter((each) => each !== undefined)
  return texts.length === argv.length ? texts : 'contains an object'
}
