import { parseDocument } from 'yaml'
import { isRecord } from '../envelope/envelope.ts'

/** How many extensions one machine may have. */
export const MAX_EXTENSIONS = 64
/** Longer ones are not read (threat W11). */
export const MAX_MANIFEST_BYTES = 64 * 1024

/** A service of its own, and no other's: what a manifest names is started as root. */
const unitOf = (namespace: string): string => `workspace-ext-${namespace}.service`
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f]/
const KEYS = new Set(['namespace', 'systemd_unit', 'description', 'environment'])

/** What an image says of an extension, in `/etc/workspace-extensions.d/<namespace>.yaml`. */
export interface ExtensionManifest {
  readonly namespace: string
  readonly unit: string
  readonly description: string
  /** What programs get in their environment while it is active. */
  readonly environment: Readonly<Record<string, string>>
}

/** How an extension fares: its service inside, and whether its listener on the host answers. */
export interface ExtensionHealth {
  readonly namespace: string
  readonly guest: string
  readonly host: 'connected' | 'disconnected'
}

/** Reads a manifest; throws an Error whose sentence says what is wrong with it (threat W11). */
export function parseManifest(text: string, namespace: string): ExtensionManifest {
  if (Buffer.byteLength(text) > MAX_MANIFEST_BYTES) throw new Error('it is longer than 64 KiB')
  const document = parseDocument(text, { schema: 'core', uniqueKeys: true })
  const [problem] = [...document.errors, ...document.warnings]
  if (problem !== undefined) throw new Error(problem.message.split('\n')[0])
  // Nothing in a manifest is there twice: aliases are refused, and with them bombs made of them.
  const content: unknown = document.toJS({ maxAliasCount: 0 })
  if (!isRecord(content)) throw new Error('it must hold keys and values')
  const unknown = Object.keys(content).find((key) => !KEYS.has(key))
  if (unknown !== undefined) throw new Error(`it has an unknown key ${JSON.stringify(unknown.slice(0, 80))}`)
  const { systemd_unit: unit, description = '', environment = {} } = content
  if (content['namespace'] !== namespace)
    throw new Error(`namespace must be "${namespace}", as its file is named`)
  if (unit !== unitOf(namespace)) throw new Error(`systemd_unit must be ${unitOf(namespace)}`)
  if (typeof description !== 'string') throw new Error('description must be a text')
  return { namespace, unit, description, environment: parseEnvironment(environment) }
}

function parseEnvironment(value: unknown): Readonly<Record<string, string>> {
  if (!isRecord(value)) throw new Error('environment must hold names and values')
  for (const [name, text] of Object.entries(value)) {
    if (!VARIABLE.test(name))
      throw new Error(`environment has ${JSON.stringify(name.slice(0, 80))}, which is no name`)
    if (typeof text !== 'string' || text.length > 4096 || CONTROL.test(text))
      throw new Error(`environment.${name} must be a text of one line`)
  }
  return value as Record<string, string>
}
