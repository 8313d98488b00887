import type { Decoded } from '../lib/config/decode.ts'
import {
  duration,
  flag,
  optionalSection,
  optionalText,
  port,
  section,
  size,
  text,
  texts,
} from '../lib/config/fields.ts'
import { LOG_FORMATS, LOG_LEVELS } from '../lib/log/levels.ts'
import { Type } from '../lib/schema/type.ts'

const secret = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, writeOnly: true, description }))

const names = Type.Array(Type.String({ minLength: 1 }))

const accessRule = Type.Object(
  {
    repos: Type.Array(Type.String({ minLength: 1 }), { minItems: 1 }),
    users: Type.Optional(names),
    groups: Type.Optional(names),
    email_domains: Type.Optional(names),
    readers: Type.Optional(Type.Boolean()),
    public: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
)

/** Schema of the content server's configuration file. */
export const contentSchema = section({
  title: text('Documentation', 'name of the site, shown on its pages'),
  http: section({
    host: text('127.0.0.1', 'address to listen on'),
    port: port(8090, 'port to listen on; 0 for a free one'),
    allowed_hosts: texts('further host names that requests may name; "*" allows all'),
    trusted_proxies: texts('addresses and networks of proxies whose X-Forwarded-For is trusted'),
    public_url: optionalText('URL that readers use, if the server is behind a proxy'),
    repo_domain: optionalText('domain under which each repository gets a separate host'),
    workers: Type.Integer({ minimum: 1, maximum: 64, default: 1, description: 'number of worker processes' }),
    open_metrics: flag(false, 'whether /metrics, /openapi.json and /reference are available without login'),
  }),
  store: section({
    type: Type.Enum(['fs', 's3'], { default: 'fs', description: 'fs: a folder; s3: a bucket' }),
    root: optionalText('folder of the objects (fs); default: in the data folder'),
    bucket: optionalText('bucket of the objects (s3)'),
    prefix: optionalText('prefix of all keys in the bucket (s3)'),
    endpoint: optionalText('URL of the service (s3); default: AWS'),
    region: text('us-east-1', 'region of the bucket (s3)'),
    force_path_style: flag(false, 'whether to put the bucket in the path instead of the host name (s3)'),
    conditional_writes: flag(
      true,
      'whether to use conditional writes, without which runs at the same time overwrite each other (s3)',
    ),
    timeout: duration(
      '10s',
      'maximum wait for the start of a response from the store, or for its next bytes',
    ),
  }),
  users: Type.Array(
    Type.Object(
      {
        name: Type.String({ minLength: 1, maxLength: 128 }),
        password_hash: Type.String({ minLength: 1, writeOnly: true }),
        groups: Type.Optional(names),
      },
      { additionalProperties: false },
    ),
    { default: [], writeOnly: true, description: 'users who may log in: {name, password_hash, groups}' },
  ),
  password_hash: secret('hash of the shared password, if there are no users'),
  access: section({
    default: Type.Enum(['readers', 'nobody'], {
      default: 'readers',
      description: 'who may read a repository without a rule: everyone who has logged in, or nobody',
    }),
    rules: Type.Array(accessRule, {
      default: [],
      description: 'rules by repository: {repos, users, groups, email_domains, readers, public}',
    }),
  }),
  reads: section({
    file: optionalText('file of the log of who read what; default: no log'),
    max_bytes: size('64MiB', 'size at which the log is rotated'),
    keep: Type.Integer({
      minimum: 1,
      maximum: 1_000,
      default: 10,
      description: 'number of older files to keep',
    }),
  }),
  session: section({
    max_age: duration('90d', 'how long a login lasts'),
    secure: flag(true, 'whether browsers send the cookie only over https'),
    store: Type.String({
      default: 'file',
      // The URL may contain a password.
      writeOnly: true,
      description: 'file, or a redis:// or rediss:// URL shared by all hosts',
    }),
    file: optionalText('file of the sessions; default: in the data folder'),
  }),
  oidc: optionalSection({
    issuer: Type.String({ minLength: 1, description: 'URL of the OpenID provider' }),
    client_id: Type.String({ minLength: 1, description: 'client ID of this server at the provider' }),
    client_secret: secret('client secret of this server at the provider'),
    label: text('single sign-on', 'name of the provider on the login page'),
    allowed_emails: texts(
      'verified email addresses that may log in; if allowed_domains is empty too, everybody may',
    ),
    allowed_domains: texts('email domains whose verified addresses may log in'),
    scope: text('openid email profile', 'scopes to request from the provider'),
    groups_claim: optionalText('claim with the groups of a reader'),
  }),
  header_auth: optionalSection({
    header: Type.String({
      pattern: '^[A-Za-z0-9-]+$',
      description: 'header in which a trusted proxy sends the reader’s name',
    }),
    groups_header: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9-]+$',
        description: 'header in which the proxy sends the reader’s groups',
      }),
    ),
    groups_separator: Type.String({
      default: ',',
      minLength: 1,
      description: 'what separates the groups in that header',
    }),
  }),
  cache: section({
    ttl: duration('5m', 'how long a cached object is used without asking the store'),
    negative_ttl: duration('5s', 'how long a missing object stays cached'),
    max_bytes: size('256MiB', 'memory for objects'),
    max_object_bytes: size('4MiB', 'larger objects are streamed and not cached'),
  }),
  robots: Type.Enum(['nothing', 'public'], {
    default: 'nothing',
    description: 'what /robots.txt lets crawlers read: nothing, or public repositories, whose names it lists',
  }),
  versions: section({
    switcher: flag(false, 'whether HTML pages of versions get a script that lets readers change the version'),
  }),
  search: section({
    max_bytes: size('128MiB', 'memory for the search index, excluding the process that reads it'),
    dir: optionalText('folder of the search index, a cache; default: in the data folder'),
  }),
  log: section({
    level: Type.Enum([...LOG_LEVELS], { default: 'info', description: 'lowest level to log' }),
    format: Type.Enum([...LOG_FORMATS], {
      default: 'auto',
      description: 'auto: pretty on a terminal, otherwise JSON',
    }),
  }),
})

/** Decoded settings, before defaults that depend on others. */
export type Settings = Decoded<typeof contentSchema>
