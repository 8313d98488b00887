import { configFault } from '../../lib/config/check.ts'
import type { Decoded } from '../../lib/config/decode.ts'
import { section, texts } from '../../lib/config/fields.ts'
import { isRecord } from '../../lib/envelope/envelope.ts'
import type { ExtensionHealth } from '../../lib/guest/extension.ts'
import { isExtensionName } from '../../lib/guest/extension-name.ts'

/** Config section `extensions`. */
export const extensionsSection = section({
  enabled: texts('namespaces of the extensions that VMs start'),
})

/** Decoded section `extensions`. */
export type ExtensionSettings = Decoded<typeof extensionsSection>

/** Validates the section. @throws CONFIG_INVALID when a name is not valid */
export function extensionSettings({ enabled }: ExtensionSettings): ExtensionSettings {
  const wrong = enabled.find((name) => !isExtensionName(name))
  if (wrong === undefined) return { enabled: [...new Set(enabled)] }
  throw configFault(
    'CONFIG_INVALID',
    `"extensions.enabled" contains ${JSON.stringify(wrong)}, which is not an extension name: 1 to 64 of a-z 0-9 . _ -, starting with a letter or digit`,
  )
}

const GUEST_STATE = /^[a-z]{1,20}$/

/** Reads an agent's report on its extensions, dropping those that are not enabled (threat B3). */
export function readHealth(value: unknown, enabled: readonly string[]): readonly ExtensionHealth[] {
  const reported = new Map(
    (Array.isArray(value) ? value : []).filter(isRecord).map((each) => [each['namespace'], each]),
  )
  return enabled.flatMap((namespace) => {
    const { guest, host } = reported.get(namespace) ?? {}
    if (typeof guest !== 'string' || !GUEST_STATE.test(guest)) return []
    return [{ namespace, guest, host: host === 'connected' ? 'connected' : 'disconnected' }]
  })
}
