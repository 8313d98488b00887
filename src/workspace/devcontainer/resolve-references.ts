import type { Backend } from '../backend/backend.ts'
import { readProgram } from '../backend/read-program.ts'
import type { DevContainer, DevContainerReading } from './dev-container.ts'
import { containerReferences, devContainerId, substituteText } from './substitute.ts'
import { MAX_VARIABLE_BYTES } from './variables.ts'

type Variables = Readonly<Record<string, string>>

/** Resolves `${devcontainerId}`, which depends on labels that identify the workspace. */
export function withDevContainerId(reading: DevContainerReading, labels: Variables): DevContainerReading {
  if (reading.is !== 'found') return reading
  const id = devContainerId(labels)
  const resolved = (text: string): string =>
    substituteText(text, (name) => (name === 'devcontainerId' ? id : undefined))
  const { environment, remoteEnvironment, featureEnvironment, placement, steps } = reading.config
  const config: DevContainer = {
    ...reading.config,
    environment: mapValues(environment, resolved),
    remoteEnvironment: mapValues(remoteEnvironment, resolved),
    featureEnvironment: mapValues(featureEnvironment, resolved),
    placement: {
      folder: resolved(placement.folder),
      link: placement.link && resolved(placement.link),
      directories: placement.directories.map(resolved),
    },
    steps: steps.map((step) => ({
      ...step,
      programs: step.programs.map((program) => ({ ...program, argv: program.argv.map(resolved) })),
    })),
  }
  return { is: 'found', config }
}

/**
 * Splits the variables of features and `remoteEnv` into those known before the container exists and those that refer
 * to its other variables.
 */
export function splitVariables({ environment, remoteEnvironment, featureEnvironment }: DevContainer): {
  readonly known: Variables
  readonly dependent: Variables
} {
  const known: Record<string, string> = {}
  const dependent: Record<string, string> = {}
  const ofFeatures = Object.entries(featureEnvironment).filter(([name]) => !Object.hasOwn(environment, name))
  for (const [name, value] of Object.entries({ ...Object.fromEntries(ofFeatures), ...remoteEnvironment })) {
    const missing: string[] = []
    const text = substituteText(
      value,
      containerReferences(environment, (each) => missing.push(each)),
    )
    if (missing.length === 0) known[name] = text
    else dependent[name] = value
  }
  return { known, dependent }
}

/** Returns the configuration with the resolved variables of features and `remoteEnv`. */
export function withVariables(devContainer: DevContainer, variables: Variables): DevContainer {
  const { environment, remoteEnvironment } = devContainer
  const own: Record<string, string> = {}
  const remote: Record<string, string> = {}
  for (const [name, value] of Object.entries(variables))
    (Object.hasOwn(remoteEnvironment, name) ? remote : own)[name] = value
  return { ...devContainer, environment: { ...own, ...environment }, remoteEnvironment: remote }
}

/** Resolves the references of variables to the environment of a container. */
export function resolveVariables(variables: Variables, container: Variables): Variables {
  return mapValues(variables, (value) => substituteText(value, containerReferences(container)))
}

/** Beyond it, the kernel may not start a program with these variables and others. */
const MAX_ENVIRONMENT_BYTES = 512 * 1024

/** Leaves out the variables that references have made too long, and names them. */
export function withinLimits(variables: Variables): {
  readonly kept: Variables
  readonly tooLong: readonly string[]
} {
  let bytes = 0
  const isKept = ([name, value]: readonly [string, string]): boolean => {
    const length = Buffer.byteLength(`${name}=${value}`)
    if (length > MAX_VARIABLE_BYTES || bytes + length > MAX_ENVIRONMENT_BYTES) return false
    bytes += length
    return true
  }
  const kept = Object.fromEntries(Object.entries(variables).filter(isKept))
  return { kept, tooLong: Object.keys(variables).filter((name) => !Object.hasOwn(kept, name)) }
}

/** Set when a program starts, not by the container. */
const OF_A_PROGRAM = new Set(['HOME', 'HOSTNAME', 'PWD', 'OLDPWD', 'SHLVL', 'TERM', '_'])

/**
 * Returns the environment that a workspace gives to every program, without what belongs to a program. Undefined
 * when it cannot be read, as in an image without `cat`.
 */
export async function readContainerEnvironment(
  backend: Backend,
  name: string,
): Promise<Variables | undefined> {
  const argv = ['cat', '/proc/self/environ']
  try {
    const { stdout } = await readProgram(await backend.exec(name, { argv, stdin: false }))
    const entries = [...parseEnvironment(stdout)].filter(([variable]) => !OF_A_PROGRAM.has(variable))
    return entries.length === 0 ? undefined : Object.fromEntries(entries)
  } catch {
    // The caller reports that it is unknown, and a backend that is away fails the next step.
    return undefined
  }
}

/** Reads the contents of `/proc/PID/environ`. */
export function parseEnvironment(text: string): ReadonlyMap<string, string> {
  const variables = new Map<string, string>()
  for (const entry of text.split('\0')) {
    const at = entry.indexOf('=')
    if (at > 0) variables.set(entry.slice(0, at), entry.slice(at + 1))
  }
  return variables
}

function mapValues(variables: Variables, change: (value: string) => string): Variables {
  return Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, change(value)]))
}
