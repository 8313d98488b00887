import { configFault } from '../../lib/config/check.ts'
import type { Decoded } from '../../lib/config/decode.ts'
import { section, texts } from '../../lib/config/fields.ts'
import { isRecord } from '../../lib/envelope/envelope.ts'
import type { ExtensionHealth } from '../../lib/guest/extension.ts'
import { isExtensionName } from '../../lib/guest/extension-name.ts'

/** What the configuration says of extensions. */
export const extensionsSection = section({
  enabled: texts('namespaces of the extensions that virtual machines start'),
})

export type ExtensionSettings = Decoded<typeof extensionsSection>

/** @throws CONFIG_INVALID */
export function extensionSettings({ enabled }: ExtensionSettings): ExtensionSettings {
  const wrong = enabled.find((name) => !isExtensionName(name))
  if (wrong === undefined) return { enabled: [...new Set(enabled)] }
  throw configFault(
    'CONFIG_INVALID',
    `"extensions.enabled" names ${JSON.stringify(wrong)}: 1 to 64 of a-z 0-9 . _ -, beginning with a letter or digit`,
  )
}

const GUEST_STATE = /^[a-z]{1,20}$/

/** What an agent says of its extensions, as far as it is of those that are enabled (threat B3). */
export function readHealth(value: unknown, enabled: readonly string[]): readonly ExtensionHealth[] {
  const told = new Map(
    (Array.isArray(value) ? value : []).filter(isRecord).map((each) => [each['namespace'], each]),
  )
  return enabled.flatMap((namespace) => {
    const { guest, host } = told.get(namespace) ?? {}
    if (typeof guest !== 'string' || !GUEST_STATE.test(guest)) return []
    return [{ namespace, guest, host: host === 'connected' ? 'connected' : 'disconnected' }]
  })
}
