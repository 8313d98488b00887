import type { Settings } from '../config-schema.ts'
import type { ProcessSpec } from '../process-spec.ts'

const MAX_PORT = 65_535
/** Addresses whose ports processes use, too: the proxy dials them at localhost. */
const LOCAL = new Set(['localhost', '127.0.0.1', '::1', '0.0.0.0', '::'])

/**
 * Returns a sentence for each process that cannot listen on its port: it is above the maximum, or the process runs at
 * the same time as another listener on it. A process that does not start by itself may take turns with another.
 */
export function portMistakes(
  specs: readonly ProcessSpec[],
  { api, proxy }: Pick<Settings, 'api' | 'proxy'>,
): readonly string[] {
  const owners = new Map<number, string>()
  if (LOCAL.has(api.host)) owners.set(api.port, 'the API')
  if (proxy.enabled && LOCAL.has(proxy.host)) owners.set(proxy.port, 'the proxy')
  const needs = new Map(specs.map(({ base, dependsOn }) => [base, dependsOn]))
  const listeners = new Map<number, ProcessSpec[]>()
  return specs.flatMap((spec) => {
    const { name, autostart, proxy: { port = 0 } = {} } = spec
    if (port > MAX_PORT) return [`process "${name}" has the port ${port}, above the maximum of ${MAX_PORT}`]
    if (port === 0 || !autostart) return []
    const others = listeners.get(port) ?? []
    listeners.set(port, [...others, spec])
    const other = others.find(
      ({ base }) => !isOverBefore(base, spec.base, needs) && !isOverBefore(spec.base, base, needs),
    )
    const owner = owners.get(port) ?? (other && `process "${other.name}"`)
    return owner === undefined ? [] : [`process "${name}" and ${owner} have the same port, ${port}`]
  })
}

/** Whether a process has ended when another one starts, because that one or one that it depends on waits for the end. */
function isOverBefore(
  name: string,
  other: string,
  needs: ReadonlyMap<string, ProcessSpec['dependsOn']>,
): boolean {
  const waiting = new Set([other])
  for (const each of waiting) {
    const { [name]: condition, ...others } = needs.get(each) ?? {}
    if (condition === 'completed' || condition === 'ended') return true
    for (const next of Object.keys(others)) waiting.add(next)
  }
  return false
}
