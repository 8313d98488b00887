import { posix } from 'node:path'
import { messageOf } from '../../lib/errors/message.ts'
import type { DevContainerReading } from './dev-container.ts'
import type { Feature, FeatureReference } from './features.ts'
import { Findings, isObject } from './findings.ts'
import { COMMANDS, type LifecycleStep, stepOf } from './lifecycle-step.ts'
import { directoriesOf } from './placement.ts'
import { type Download, withoutQuery } from './download-feature.ts'
import { readJson } from './read-json.ts'
import { localReferences, substitute } from './substitute.ts'
import { variablesOf } from './variables.ts'

/** All variables of features together, with the values that they refer to. */
const MAX_VARIABLES_LENGTH = 128 * 1024

/** Properties of a feature that change the container and are not supported. */
const UNSUPPORTED = ['dependsOn', 'entrypoint', 'privileged', 'capAdd', 'securityOpt'] as const

/**
 * Reads the description of each feature in its folder, and adds what it asks for to the configuration. A feature
 * whose description is unusable is left out.
 *
 * @param read returns the text of a file, by its path relative to `workspaceDir`
 * @param download returns an archive by its address; if absent, those in archives are left out
 */
export async function withFeatures(
  reading: DevContainerReading,
  workspaceDir: string,
  read: (path: string) => Promise<string>,
  download?: Download,
): Promise<DevContainerReading> {
  if (reading.is !== 'found' || reading.config.featureReferences.length === 0) return reading
  const { config } = reading
  const findings = new Findings()
  const folders = { local: workspaceDir, container: config.placement.folder }
  const loaded: Loaded[] = []
  for (const reference of config.featureReferences) {
    if (reference.isArchive && download === undefined) continue
    const own = new Findings()
    try {
      const { place, isArchive } = reference
      const archive = isArchive ? await download?.(place) : undefined
      const text = archive?.description ?? (await read(`${place}/devcontainer-feature.json`))
      const { content, error } = readJson(text)
      if (!isObject(content)) throw new Error(error ?? 'it is not an object')
      const resolve = localReferences(folders, (hidden) =>
        own.notes.push(`${hidden} is its default or empty`),
      )
      const described = substitute(content, resolve) as typeof content
      loaded.push(loadFeature({ ...reference, content: archive?.bytes ?? place }, described, own))
    } catch (error) {
      own.invalid.push(`devcontainer-feature.json is unusable, and it is not installed: ${messageOf(error)}`)
    }
    for (const list of ['invalid', 'notes'] as const)
      findings[list].push(
        ...own[list].map((sentence) => `features: ${withoutQuery(reference.place)}: ${sentence}`),
      )
  }
  const { placement } = config
  const directories = [...placement.directories, ...loaded.flatMap((each) => each.directories)]
  return {
    is: 'found',
    config: {
      ...config,
      features: loaded.map(({ feature }) => feature),
      placement: { ...placement, directories },
      featureEnvironment: variablesOfAll(loaded, findings),
      // Those of features first, as the official CLI does.
      steps: COMMANDS.flatMap((command) =>
        [...loaded.flatMap(({ steps }) => steps), ...config.steps].filter((step) => step.command === command),
      ),
      invalid: [...config.invalid, ...findings.invalid],
      notes: [...config.notes, ...findings.notes],
    },
  }
}

/** Additions of a feature to a devcontainer.json. */
interface Loaded {
  readonly feature: Feature
  readonly variables: Readonly<Record<string, string>>
  readonly directories: readonly string[]
  readonly steps: readonly LifecycleStep[]
}

function loadFeature(
  { place, value, content: files }: FeatureReference & Pick<Feature, 'content'>,
  content: Readonly<Record<string, unknown>>,
  findings: Findings,
): Loaded {
  const { id, options, containerEnv, mounts } = content
  for (const key of UNSUPPORTED)
    if (content[key] !== undefined) findings.notes.push(`${key} is not supported`)
  return {
    feature: {
      id: typeof id === 'string' ? id.slice(0, 80) : posix.basename(place),
      content: files,
      options: optionsOf(options, value),
    },
    // Its references are those of a Dockerfile, which are notable in a devcontainer.json only.
    variables: variablesOf('containerEnv', containerEnv, { invalid: findings.invalid, notes: [] }),
    directories: directoriesOf(mounts, findings),
    steps: COMMANDS.map((command) => stepOf(command, content[command], findings)).filter(
      (step) => step !== undefined,
    ),
  }
}

/** Returns the options of a feature as variables: its defaults, and over them those of the devcontainer.json. */
function optionsOf(described: unknown, value: unknown): Readonly<Record<string, string>> {
  const defaults = Object.entries(isObject(described) ? described : {}).map(([name, option]) => [
    name,
    isObject(option) ? option['default'] : undefined,
  ])
  const given =
    typeof value === 'string' ? [['version', value]] : Object.entries(isObject(value) ? value : {})
  const options: Record<string, string> = {}
  for (const [name, option] of [...defaults, ...given])
    if (['string', 'boolean', 'number'].includes(typeof option))
      options[variableOf(String(name))] = String(option)
  return options
}

/** Returns the variable of an option. Source: https://containers.dev/implementors/features/#option-resolution */
function variableOf(option: string): string {
  return option
    .replaceAll(/\W/g, '_')
    .replace(/^[\d_]+/, '_')
    .toUpperCase()
}

/**
 * Combines the variables of features. As in a Dockerfile, a value can refer to the image's and to earlier ones; those
 * that are too long together are left out.
 */
function variablesOfAll(loaded: readonly Loaded[], { invalid }: Findings): Readonly<Record<string, string>> {
  const all: Record<string, string> = {}
  let length = 0
  for (const [name, value] of loaded.flatMap(({ variables }) => Object.entries(variables))) {
    const text = expanded(value, all)
    length += text.length
    if (length > MAX_VARIABLES_LENGTH) {
      invalid.push(`features: their variables are too long; ${name} and those after it are not set`)
      break
    }
    all[name] = text
  }
  return all
}

/** Replaces `$NAME` and `${NAME:-default}` by a known variable, or by a reference to the container's. */
function expanded(value: string, known: Readonly<Record<string, string>>): string {
  let length = 0
  return value.replaceAll(
    /\$(?:\{(\w+)(?::-([^}]*))?\}|([A-Za-z_]\w*))/g,
    (reference, braced: string | undefined, otherwise: string | undefined, plain: string | undefined) => {
      // The rest does not matter: the variable is left out.
      if (length > MAX_VARIABLES_LENGTH) return reference
      const name = braced ?? plain ?? ''
      const text = Object.hasOwn(known, name)
        ? (known[name] ?? '')
        : `\${containerEnv:${name}${otherwise === undefined ? '' : `:${otherwise}`}}`
      length += text.length
      return text
    },
  )
}
