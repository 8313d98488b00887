import { messageOf } from '../../lib/errors/message.ts'
import { isUser } from '../arguments.ts'
import { type Build, type BuildReference, buildOf } from './build.ts'
import { type Feature, type FeatureReference, featuresOf } from './features.ts'
import { Findings, isObject, kindOf, refuseMore } from './findings.ts'
import { COMMANDS, type LifecycleCommand, type LifecycleStep, stepOf } from './lifecycle-step.ts'
import { directoriesOf, folderOf, linkOf, type Placement } from './placement.ts'
import { readJson } from './read-json.ts'
import { localReferences, substitute } from './substitute.ts'
import { noteUnsupported } from './unsupported.ts'
import { variablesOf } from './variables.ts'

/** Paths of a devcontainer.json below the workspace's directory; the first existing one counts. */
export const DEV_CONTAINER_FILES = ['.devcontainer/devcontainer.json', '.devcontainer.json'] as const
/** Maximum size of a devcontainer.json. */
export const MAX_DEV_CONTAINER_BYTES = 256 * 1024

/** Every shell forwards each port. */
const MAX_PORTS = 256

/** How the environment of lifecycle commands is determined: by which kind of shell. */
const USER_ENV_PROBES = ['loginInteractiveShell', 'loginShell', 'interactiveShell', 'none'] as const
/** Kind of shell whose environment lifecycle commands get. */
export type UserEnvProbe = (typeof USER_ENV_PROBES)[number]

/** The honored settings of a devcontainer.json. */
export interface DevContainer {
  readonly image: string | undefined
  /** How its image is to be built; this comes before `image`. */
  readonly buildReference: BuildReference | undefined
  /** The same with the Dockerfile, once it has been read; see `withBuild`. */
  readonly build: Build | undefined
  /** `containerEnv`: environment of every program in the workspace. */
  readonly environment: Readonly<Record<string, string>>
  /** `remoteEnv`, which overrides it; can refer to variables of the container. */
  readonly remoteEnvironment: Readonly<Record<string, string>>
  /** Variables of its features, below both; can refer to variables of the container. */
  readonly featureEnvironment: Readonly<Record<string, string>>
  readonly forwardPorts: readonly number[]
  /** User of all programs: `remoteUser`, or else `containerUser`. */
  readonly user: string | undefined
  readonly placement: Placement
  /** The features that it names, in the order of their installation. */
  readonly featureReferences: readonly FeatureReference[]
  /** Those of them whose description has been read; see `withFeatures`. */
  readonly features: readonly Feature[]
  /** Its commands: the steps run in sequence, the programs of one step concurrently. */
  readonly steps: readonly LifecycleStep[]
  readonly userEnvProbe: UserEnvProbe
  /** One sentence for each entry that is not valid. */
  readonly invalid: readonly string[]
  /** One sentence for each setting that is not honored. */
  readonly notes: readonly string[]
}

/** Commands that the specification repeats at each start or attachment. */
const REPEATED: readonly LifecycleCommand[] = ['postStartCommand', 'postAttachCommand']

/** Result of reading a workspace's devcontainer.json. `bad`: the file exists but is unusable. */
export type DevContainerReading =
  | { readonly is: 'none' }
  | { readonly is: 'found'; readonly config: DevContainer }
  | { readonly is: 'bad'; readonly why: string }

/**
 * Reads the text of a devcontainer.json as the official CLI does (https://github.com/devcontainers/cli): what is
 * usable is used, and each other entry is converted or ignored.
 *
 * @param configDir its directory relative to the workspace's; undefined for a text that is no file of a workspace
 */
export function parseDevContainer(
  text: string,
  workspaceDir: string,
  configDir?: string,
): DevContainerReading {
  try {
    const { content, error } = readJson(text)
    if (!isObject(content)) return { is: 'bad', why: error ?? 'it is not an object' }
    if (error !== undefined && Object.keys(content).length === 0) return { is: 'bad', why: error }
    const config = fromContent(content, workspaceDir, configDir)
    if (error === undefined) return { is: 'found', config }
    const invalid = [`${error}; only what can be read is used`, ...config.invalid]
    return { is: 'found', config: { ...config, invalid } }
  } catch (error) {
    return { is: 'bad', why: messageOf(error) }
  }
}

function fromContent(
  content: Readonly<Record<string, unknown>>,
  workspaceDir: string,
  configDir: string | undefined,
): DevContainer {
  const findings = new Findings()
  const { invalid, notes } = findings
  notes.push(...noteUnsupported(content))
  let folder = workspaceDir
  const valueOf = (key: string): unknown => {
    const hidden = new Set<string>()
    const folders = { local: workspaceDir, container: folder }
    const resolve = localReferences(folders, (reference) => hidden.add(reference.slice(0, 80)))
    const value = substitute(content[key], resolve)
    for (const reference of hidden)
      notes.push(
        `${key}: ${reference} is its default or empty, because the server's environment is not exposed`,
      )
    return value
  }
  folder = folderOf(valueOf('workspaceFolder'), workspaceDir, findings)
  const steps = COMMANDS.map((command) => stepOf(command, valueOf(command), findings)).filter(
    (step) => step !== undefined,
  )
  for (const { command } of steps)
    if (REPEATED.includes(command)) notes.push(`${command} runs only after the creation`)
  return {
    image: imageOf(valueOf('image'), findings),
    buildReference: buildOf(valueOf, configDir, findings),
    build: undefined,
    environment: variablesOf('containerEnv', valueOf('containerEnv'), findings),
    remoteEnvironment: variablesOf('remoteEnv', valueOf('remoteEnv'), findings),
    featureEnvironment: {},
    forwardPorts: portsOf(valueOf('forwardPorts'), findings),
    user: userOf(valueOf, findings),
    placement: {
      folder,
      link: linkOf(valueOf('workspaceMount'), { folder, workspaceDir }, findings),
      directories: directoriesOf(valueOf('mounts'), findings),
    },
    featureReferences: featuresOf(valueOf('features'), configDir, findings),
    features: [],
    steps,
    userEnvProbe: probeOf(valueOf('userEnvProbe'), findings),
    invalid,
    notes,
  }
}

function imageOf(value: unknown, { invalid }: Findings): string | undefined {
  if (value === undefined || (typeof value === 'string' && value !== '')) return value
  invalid.push(`image is ${value === '' ? 'empty' : `${kindOf(value)}, not a text,`} and is ignored`)
  return undefined
}

function userOf(valueOf: (key: string) => unknown, { invalid }: Findings): string | undefined {
  for (const key of ['remoteUser', 'containerUser']) {
    const value = valueOf(key)
    if (value === undefined || value === null || value === '') continue
    const user = typeof value === 'number' ? String(value) : value
    if (typeof user === 'string' && isUser(user)) return user
    invalid.push(`${key} is not a user's name or number and is ignored`)
  }
  return undefined
}

function portsOf(value: unknown, { invalid, notes }: Findings): readonly number[] {
  if (value === undefined) return []
  const isOne = typeof value === 'number' || typeof value === 'string'
  if (!isOne && !Array.isArray(value)) {
    invalid.push(`forwardPorts is ${kindOf(value)}, not a list, and is ignored`)
    return []
  }
  const given: readonly unknown[] = isOne ? [value] : value
  refuseMore('forwardPorts', 'ports', given.length, MAX_PORTS)
  const result = new Set<number>()
  for (const each of given) {
    const port = Number(/^(?:(?:localhost|127\.0\.0\.1):)?(\d{1,5})$/.exec(String(each))?.[1])
    if (port >= 1 && port <= 65_535) result.add(port)
    else
      notes.push(
        `forwardPorts: ${JSON.stringify(each).slice(0, 80)} is not supported: it is not a port of the workspace itself`,
      )
  }
  return [...result]
}

function probeOf(value: unknown, { invalid }: Findings): UserEnvProbe {
  const known = USER_ENV_PROBES.find((each) => each === value)
  if (known !== undefined) return known
  const [normal] = USER_ENV_PROBES
  if (value === undefined) return normal
  // The official CLI takes these for absent, and other values for a shell that reads no files.
  const isAbsent = value === null || value === '' || value === false || value === 0
  const used = isAbsent ? normal : 'none'
  invalid.push(`userEnvProbe is not one of ${USER_ENV_PROBES.join(', ')}; ${used} is used`)
  return used
}
