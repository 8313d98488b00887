import { type ParseError, parse, printParseErrorCode, type ParseOptions, visit } from 'jsonc-parser'
import { basename } from 'node:path'
import { messageOf } from '../../lib/errors/message.ts'
import { noteUnsupported } from './unsupported.ts'

/** Paths of a devcontainer.json below the workspace's directory; the first existing one counts. */
export const DEV_CONTAINER_FILES = ['.devcontainer/devcontainer.json', '.devcontainer.json'] as const
/** Maximum size of a devcontainer.json. */
export const MAX_DEV_CONTAINER_BYTES = 256 * 1024

/** Every program gets each variable, every shell each port, and the commands of a step run concurrently. */
const MAX_VARIABLES = 512
const MAX_PORTS = 256
const MAX_COMMANDS = 32

/** The honored settings of a devcontainer.json. */
export interface DevContainer {
  readonly image: string | undefined
  /** Environment of every program in the workspace: `containerEnv`, overridden by `remoteEnv`. */
  readonly environment: Readonly<Record<string, string>>
  readonly forwardPorts: readonly number[]
  /** Its commands: the steps run in sequence, the programs of one step concurrently. */
  readonly steps: readonly LifecycleStep[]
  /** One sentence for each setting that is not honored. */
  readonly notes: readonly string[]
}

/** Commands of a devcontainer.json in execution order. */
const COMMANDS = [
  'onCreateCommand',
  'updateContentCommand',
  'postCreateCommand',
  'postStartCommand',
  'postAttachCommand',
] as const
type LifecycleCommand = (typeof COMMANDS)[number]

/** Commands that the specification repeats at each start or attachment. */
const REPEATED: readonly LifecycleCommand[] = ['postStartCommand', 'postAttachCommand']

/** A command with its programs, named if the file names them. */
export interface LifecycleStep {
  readonly command: LifecycleCommand
  readonly programs: readonly Preparation[]
}

/** A program that prepares a workspace, run inside it once. */
export interface Preparation {
  readonly name: string
  readonly argv: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

/** Result of reading a workspace's devcontainer.json. `bad`: the file exists but is unusable. */
export type DevContainerReading =
  | { readonly is: 'none' }
  | { readonly is: 'found'; readonly config: DevContainer }
  | { readonly is: 'bad'; readonly why: string }

/** Reads the text of a devcontainer.json, JSON with comments and trailing commas. */
export function parseDevContainer(text: string, workspaceDir: string): DevContainerReading {
  try {
    const errors: ParseError[] = []
    const options = { allowTrailingComma: true }
    refuseExcess(text, options)
    const content: unknown = parse(text, errors, options)
    const [error] = errors
    if (error !== undefined) {
      const line = text.slice(0, error.offset).split('\n').length
      return { is: 'bad', why: `it is not valid JSON: ${printParseErrorCode(error.error)} in line ${line}` }
    }
    if (!isRecord(content)) return { is: 'bad', why: 'it is not an object' }
    return { is: 'found', config: fromContent(content, workspaceDir) }
  } catch (error) {
    return { is: 'bad', why: messageOf(error) }
  }
}

function fromContent(content: Readonly<Record<string, unknown>>, workspaceDir: string): DevContainer {
  const { image, containerEnv, remoteEnv, forwardPorts } = content
  if (image !== undefined && typeof image !== 'string') throw new Error('image must be a string')
  const notes: string[] = [...noteUnsupported(content, workspaceDir)]
  const environment = {
    ...variables('containerEnv', containerEnv, workspaceDir, notes),
    ...variables('remoteEnv', remoteEnv, workspaceDir, notes),
  }
  const steps = COMMANDS.map((key) => ({
    command: key,
    programs: commands(key, content[key]),
  })).filter(({ programs }) => programs.length > 0)
  for (const { command } of steps)
    if (REPEATED.includes(command)) notes.push(`${command} runs only after the creation`)
  return {
    image,
    environment,
    forwardPorts: ports(forwardPorts, notes),
    steps,
    notes,
  }
}

function variables(
  key: string,
  value: unknown,
  workspaceDir: string,
  notes: string[],
): Readonly<Record<string, string>> {
  if (value === undefined) return {}
  if (!isRecord(value)) throw new Error(`${key} must be an object`)
  refuseMore(key, 'variables', Object.keys(value).length, MAX_VARIABLES)
  const result: Record<string, string> = {}
  for (const [name, each] of Object.entries(value)) {
    // null removes a variable that would be set otherwise.
    if (each === null) continue
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw new Error(`${key} has a bad name`)
    if (typeof each !== 'string' || each.includes('\0')) throw new Error(`${key}.${name} must be a string`)
    // Programs inside cannot see the host's path: both folders mean the one inside.
    const text = each
      .replaceAll(/\$\{(?:container|local)WorkspaceFolder\}/g, workspaceDir)
      .replaceAll(/\$\{(?:container|local)WorkspaceFolderBasename\}/g, basename(workspaceDir))
    // The server's own environment is never exposed (threat W12).
    if (text.includes('${')) notes.push(`${key}.${name} contains an unknown reference and is ignored`)
    else result[name] = text
  }
  return result
}

function ports(value: unknown, notes: string[]): readonly number[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) throw new Error('forwardPorts must be a list')
  refuseMore('forwardPorts', 'ports', value.length, MAX_PORTS)
  const result = new Set<number>()
  for (const each of value as readonly unknown[]) {
    const port = Number(/^(?:(?:localhost|127\.0\.0\.1):)?(\d{1,5})$/.exec(String(each))?.[1])
    if (port >= 1 && port <= 65_535) result.add(port)
    else
      notes.push(
        `forwardPorts: ${JSON.stringify(each).slice(0, 80)} is not supported: it is not a port of the workspace itself`,
      )
  }
  return [...result]
}

function commands(key: LifecycleCommand, value: unknown): readonly Preparation[] {
  if (value === undefined || value === null || value === '') return []
  if (typeof value === 'string' || Array.isArray(value)) return [programOf(key, key, value)]
  if (!isRecord(value)) throw new Error(`${key} must be a string, a list or an object`)
  refuseMore(key, 'commands', Object.keys(value).length, MAX_COMMANDS)
  return Object.entries(value).map(([name, each]) => programOf(`${key}.${name}`, name, each))
}

function refuseMore(key: string, what: string, count: number, most: number): void {
  if (count > most) throw new Error(`${key} has ${count} ${what}, more than ${most}`)
}

/** Converts a command: a string is run by a shell, a list as it is. */
function programOf(key: string, name: string, value: unknown): Preparation {
  if (typeof value === 'string') return { name, argv: ['/bin/sh', '-c', value] }
  const isList = Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === 'string')
  if (!isList) throw new Error(`${key} must be a string or a list of strings`)
  return { name, argv: value }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Far more than people write, and less than what exhausts the parser's stack. */
const MAX_DEPTH = 32
const MAX_VALUES = 10_000

/**
 * Rejects a text whose parsed form would be harmful: deep nesting, too many values, and the key that sets an
 * object's prototype, through which other keys would then be read.
 *
 * @throws Error with a sentence
 */
function refuseExcess(text: string, options: ParseOptions): void {
  let depth = 0
  let values = 0
  const count = (): void => {
    if (++values > MAX_VALUES) throw new Error(`it has more than ${MAX_VALUES} values`)
  }
  const enter = (): void => {
    count()
    if (++depth > MAX_DEPTH) throw new Error(`it is nested more than ${MAX_DEPTH} levels deep`)
  }
  const leave = (): void => {
    depth--
  }
  const visitor = {
    onObjectBegin: enter,
    onObjectEnd: leave,
    onArrayBegin: enter,
    onArrayEnd: leave,
    onLiteralValue: count,
    onObjectProperty(name: string) {
      if (name === '__proto__') throw new Error('"__proto__" is not a valid property')
    },
  }
  visit(text, visitor, options)
}
