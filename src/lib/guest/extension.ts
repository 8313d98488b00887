import { parseDocument } from 'yaml'
import { isRecord } from '../envelope/envelope.ts'

/** Maximum number of extensions per machine. */
export const MAX_EXTENSIONS = 64
/** Maximum size of a manifest (threat W11). */
export const MAX_MANIFEST_BYTES = 64 * 1024

/** The only unit that a manifest can name, because it is started as root. */
const unitOf = (namespace: string): string => `workspace-ext-${namespace}.service`
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f]/
const KEYS = new Set(['namespace', 'systemd_unit', 'description', 'environment'])

/** An extension's manifest, `/etc/workspace-extensions.d/<namespace>.yaml` in an image. */
export interface ExtensionManifest {
  readonly namespace: string
  readonly unit: string
  readonly description: string
  /** Environment variables for programs while the extension is active. */
  readonly environment: Readonly<Record<string, string>>
}

/** Health of an extension: its service inside, and whether its listener on the host responds. */
export interface ExtensionHealth {
  readonly namespace: string
  readonly guest: string
  readonly host: 'connected' | 'disconnected'
}

/** Parses a manifest. @throws Error with the reason when it is invalid (threat W11) */
export function parseManifest(text: string, namespace: string): ExtensionManifest {
  if (Buffer.byteLength(text) > MAX_MANIFEST_BYTES) throw new Error('it is longer than 64 KiB')
  const document = parseDocument(text, { schema: 'core', uniqueKeys: true })
  const [problem] = [...document.errors, ...document.warnings]
  if (problem !== undefined) throw new Error(problem.message.split('\n')[0])
  // Aliases are refused, and with them alias bombs.
  const content: unknown = document.toJS({ maxAliasCount: 0 })
  if (!isRecord(content)) throw new Error('it must be a mapping of keys to values')
  const unknown = Object.keys(content).find((key) => !KEYS.has(key))
  if (unknown !== undefined) throw new Error(`it has an unknown key ${JSON.stringify(unknown.slice(0, 80))}`)
  const { systemd_unit: unit, description = '', environment = {} } = content
  if (content['namespace'] !== namespace)
    throw new Error(`namespace must be "${namespace}", like its file name`)
  if (unit !== unitOf(namespace)) throw new Error(`systemd_unit must be ${unitOf(namespace)}`)
  if (typeof description !== 'string') throw new Error('description must be a string')
  return { namespace, unit, description, environment: parseEnvironment(environment) }
}

function parseEnvironment(value: unknown): Readonly<Record<string, string>> {
  if (!isRecord(value)) throw new Error('environment must be a mapping of names to values')
  for (const [name, text] of Object.entries(value)) {
    if (!VARIABLE.test(name))
      throw new Error(`environment has the invalid name ${JSON.stringify(name.slice(0, 80))}`)
    if (typeof text !== 'string' || text.length > 4096 || CONTROL.test(text))
      throw new Error(`environment.${name} must be a single-line string`)
  }
  return value as Record<string, string>
}
