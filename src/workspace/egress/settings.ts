import { configFault } from '../../lib/config/check.ts'
import type { Decoded } from '../../lib/config/decode.ts'
import { named, optionalSection, optionalText, section, texts } from '../../lib/config/fields.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { Type } from '../../lib/schema/type.ts'
import { isWorkspaceName, NAME_RULE } from '../name.ts'
import { isHostName } from '../network/policy.ts'
import { DEFAULT_PORTS } from './default-ports.ts'
import {
  compilePath,
  type Credential,
  type EgressProfile,
  type EgressRule,
  NEVER_METHODS,
  type UpstreamServer,
} from './rules.ts'
import { EGRESS_ENVIRONMENT } from './trust.ts'

const SCHEMES = ['https', 'http'] as const
const METHOD = /^[A-Z][A-Z-]{0,19}$/
const HEADER = /^[a-z0-9!#$%&'*+.^_`|~-]{1,64}$/i
const VARIABLE = /^[A-Z_][A-Z0-9_]*$/i

const ruleSchema = Type.Object(
  {
    host: Type.String({
      minLength: 1,
      description: 'host name such as api.github.com, or *.example.com for all names below it',
    }),
    scheme: Type.Optional(Type.Enum(SCHEMES, { description: 'https (default) or http' })),
    port: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 65_535, description: 'port; default that of the scheme' }),
    ),
    methods: texts('methods such as GET; empty: all but CONNECT and TRACE'),
    paths: texts(
      'patterns of paths: * within a segment, ** across segments, such as /repos/acme/**; empty: all',
    ),
    credential: optionalSection({
      secret: Type.String({ minLength: 1, description: 'secret that the proxy adds to requests' }),
      scheme: Type.Optional(
        Type.Enum(['bearer', 'basic'] as const, {
          description: 'form of the header Authorization; default bearer',
        }),
      ),
      user: optionalText('user name for scheme basic'),
      header: optionalText('header for the bare secret instead of Authorization, such as x-api-key'),
    }),
    upstream: optionalText(
      'origin such as https://mirror.corp:8443 that the requests go to instead; it may be in a private network',
    ),
  },
  { additionalProperties: false },
)

const profileSchema = Type.Object(
  {
    rules: Type.Array(ruleSchema, { default: [], description: 'the first rule that matches applies' }),
    environment: named(
      Type.String(),
      'variables of the workspace, such as placeholders for credentials that the proxy replaces',
    ),
  },
  { additionalProperties: false },
)

/** Config section `egress`. */
export const egressSection = section({
  port: Type.Integer({
    minimum: 1,
    maximum: 65_535,
    default: 3_128,
    description: "port of the proxy on each workspace's own 127.0.0.1",
  }),
  ca_file: optionalText(
    'PEM file with certificate authorities that the proxy trusts besides the public ones',
  ),
  secrets: named(
    Type.Object(
      {
        file: optionalText('file with the secret, read at each use'),
        env: optionalText("variable of the server's environment with the secret"),
      },
      { additionalProperties: false },
    ),
    'secrets that rules refer to; they never enter a workspace',
  ),
  profiles: named(
    profileSchema,
    'egress profiles: what workspaces created with network.egress_profile can request, and with which credentials',
  ),
})

type RuleSettings = Decoded<typeof ruleSchema>

/** Where a secret is. */
export type SecretSource =
  { readonly is: 'file'; readonly path: string } | { readonly is: 'value'; readonly value: string }

/** Resolved section `egress`. */
export interface EgressSettings {
  readonly port: number
  readonly caFile: string | undefined
  readonly secrets: ReadonlyMap<string, SecretSource>
  readonly profiles: ReadonlyMap<string, EgressProfile>
}

/** Resolves the section. @throws CONFIG_INVALID for rules that could not work or would reveal a secret */
export function egressSettings(
  settings: Decoded<typeof egressSection>,
  environment: Readonly<Record<string, string | undefined>>,
): EgressSettings {
  const secrets = new Map(
    Object.entries(settings.secrets).map(([name, { file, env }]) => [
      name,
      sourceOf(name, file, env, environment),
    ]),
  )
  const profiles = new Map(
    Object.entries(settings.profiles).map(([name, profile]) => {
      const at = `"egress.profiles.${name}`
      if (!isWorkspaceName(name)) throw configFault('CONFIG_INVALID', `${at}": its name must be ${NAME_RULE}`)
      const wrong = Object.keys(profile.environment).find(
        (each) => !VARIABLE.test(each) || each in EGRESS_ENVIRONMENT,
      )
      if (wrong !== undefined)
        throw configFault(
          'CONFIG_INVALID',
          `${at}.environment": ${wrong} is not a variable that a profile can set`,
        )
      const rules = profile.rules.map((rule, index) => {
        try {
          return ruleOf(rule, secrets)
        } catch (error) {
          throw configFault('CONFIG_INVALID', `${at}.rules[${index}]": ${messageOf(error)}`)
        }
      })
      return [name, { name, rules, environment: profile.environment }]
    }),
  )
  return { port: settings.port, caFile: settings.caFile, secrets, profiles }
}

function sourceOf(
  name: string,
  file: string | undefined,
  env: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): SecretSource {
  const at = `"egress.secrets.${name}"`
  if ((file === undefined) === (env === undefined))
    throw configFault('CONFIG_INVALID', `${at} must have either file or env`)
  if (file !== undefined) return { is: 'file', path: file }
  const value = environment[env ?? '']
  if (value === undefined || value === '')
    throw configFault('CONFIG_INVALID', `${at}: the variable ${env} is not set in the server's environment`)
  return { is: 'value', value }
}

function ruleOf(rule: RuleSettings, secrets: ReadonlyMap<string, SecretSource>): EgressRule {
  const { scheme = 'https', methods, paths, upstream } = rule
  const host = rule.host.toLowerCase()
  if (!isHostName(host.replace(/^\*\./, '')))
    throw new Error(
      `host "${rule.host}" is not a host name or *. and a host name; addresses cannot be allowed`,
    )
  const badMethod = methods.find((each) => !METHOD.test(each) || NEVER_METHODS.has(each))
  if (badMethod !== undefined) throw new Error(`method "${badMethod}" cannot be allowed`)
  const badPath = paths.find((each) => !each.startsWith('/'))
  if (badPath !== undefined) throw new Error(`path "${badPath}" does not begin with /`)
  const target = upstream === undefined ? undefined : upstreamOf(upstream)
  const credential = rule.credential && credentialOf(rule.credential, secrets)
  const isPlain = target === undefined && scheme === 'http'
  if (credential !== undefined && isPlain)
    throw new Error('a credential would be sent unencrypted; use scheme https')
  return {
    host,
    scheme,
    port: rule.port ?? DEFAULT_PORTS[scheme],
    methods: new Set(methods),
    paths: paths.map(compilePath),
    credential,
    upstream: target,
  }
}

function upstreamOf(text: string): UpstreamServer {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const scheme = SCHEMES.find((each) => `${each}:` === url?.protocol)
  if (url === undefined || scheme === undefined || url.origin !== text.replace(/\/$/, ''))
    throw new Error(`upstream "${text}" is not an origin such as https://mirror.corp:8443`)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  return { scheme, host, port: url.port === '' ? DEFAULT_PORTS[scheme] : Number(url.port) }
}

function credentialOf(
  { secret, scheme = 'bearer', user, header }: NonNullable<RuleSettings['credential']>,
  secrets: ReadonlyMap<string, SecretSource>,
): Credential {
  if (!secrets.has(secret)) throw new Error(`credential.secret "${secret}" is not one of egress.secrets`)
  if (header !== undefined && !HEADER.test(header))
    throw new Error(`credential.header "${header}" is not a header name`)
  if (header !== undefined) return { secret, is: 'header', header: header.toLowerCase() }
  if (scheme === 'bearer') return { secret, is: 'bearer' }
  if (user === undefined || user.includes(':'))
    throw new Error('credential.scheme basic needs a user without a colon')
  return { secret, is: 'basic', user }
}
