import { configFault } from '../../lib/config/check.ts'
import type { Decoded } from '../../lib/config/decode.ts'
import { optionalSection, optionalText, section } from '../../lib/config/fields.ts'
import { isHttpUrl } from '../../lib/http/http-url.ts'
import { Type } from '../../lib/schema/type.ts'

/** Config section `audit`. */
export const auditSection = section({
  file: optionalText('file to which audit entries are appended; default none'),
  otlp: optionalSection({
    url: Type.String({
      minLength: 1,
      description:
        'URL for logs of an OpenTelemetry collector that gets all entries, such as https://host/v1/logs',
    }),
    token_file: optionalText('file with a token that the collector requires'),
  }),
})

/** Settings of the audit log. */
export type AuditSettings = Decoded<typeof auditSection>

/** Checks the section. @throws CONFIG_INVALID when entries cannot be sent as configured */
export function auditSettings(settings: AuditSettings): AuditSettings {
  const { file, otlp } = settings
  if (otlp === undefined) return settings
  if (file === undefined)
    throw configFault('CONFIG_INVALID', 'audit.otlp requires audit.file, whose entries it sends')
  if (!isHttpUrl(otlp.url))
    throw configFault('CONFIG_INVALID', `audit.otlp.url "${otlp.url}" must be an http or https URL`)
  return settings
}
