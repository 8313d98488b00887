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

/** Schema of the content server's configuration file. */
export const contentSchema = section({
  title: text('Documentation', 'name of the site, shown on its pages'),
  http: section({
    host: text('127.0.0.1', 'address to listen on'),
    port: port(8090, 'port to listen on; 0 for a free one'),
    allowed_hosts: texts('further host names that requests may name; "*" allows all'),
    trusted_proxies: texts('addresses and networks of proxies whose X-Forwarded-For is believed'),
    public_url: optionalText('address that readers use, when a proxy stands before the server'),
    repo_domain: optionalText('domain below which each repository has a host of its own'),
    workers: Type.Integer({ minimum: 1, maximum: 64, default: 1, description: 'number of worker processes' }),
    open_metrics: flag(false, 'whether /metrics, /openapi.json and /reference need no login'),
  }),
  store: section({
    type: Type.Enum(['fs', 's3'], { default: 'fs', description: 'fs: a folder; s3: a bucket' }),
    root: optionalText('folder of the objects (fs); default in the data folder'),
    bucket: optionalText('bucket of the objects (s3)'),
    prefix: optionalText('what all keys in the bucket begin with (s3)'),
    endpoint: optionalText('URL of the service (s3); default that of AWS'),
    region: text('us-east-1', 'region of the bucket (s3)'),
    force_path_style: flag(false, 'whether the bucket is in the path and not in the host name (s3)'),
    timeout: duration('10s', 'how long the store may take to begin an answer, or to go on with one'),
  }),
  users: Type.Array(
    Type.Object(
      {
        name: Type.String({ minLength: 1, maxLength: 128 }),
        password_hash: Type.String({ minLength: 1, writeOnly: true }),
      },
      { additionalProperties: false },
    ),
    { default: [], writeOnly: true, description: 'users who may log in: {name, password_hash}' },
  ),
  password_hash: secret('hash of the one password, where no users are named'),
  session: section({
    max_age: duration('90d', 'how long a login lasts'),
    secure: flag(true, 'whether browsers send the cookie over https alone'),
    store: Type.String({
      default: 'file',
      // The URL may hold a password.
      writeOnly: true,
      description: 'file, or a redis:// or rediss:// URL shared by all hosts',
    }),
    file: optionalText('file of the sessions; default in the data folder'),
  }),
  oidc: optionalSection({
    issuer: Type.String({ minLength: 1, description: 'URL of the OpenID provider' }),
    client_id: Type.String({ minLength: 1, description: 'id of this server at the provider' }),
    client_secret: secret('secret of this server at the provider'),
    label: text('single sign-on', 'name of the provider on the login page'),
    allowed_emails: texts('verified addresses that may enter; with allowed_domains empty too: everybody'),
    allowed_domains: texts('domains of verified addresses that may enter'),
  }),
  header_auth: optionalSection({
    header: Type.String({
      pattern: '^[A-Za-z0-9-]+$',
      description: 'header in which a trusted proxy sends the reader’s name',
    }),
  }),
  cache: section({
    ttl: duration('5m', 'how long an answer of the store counts'),
    negative_ttl: duration('5s', 'how long it counts that an object is missing'),
    max_bytes: size('256MiB', 'memory for objects'),
    max_object_bytes: size('4MiB', 'larger objects are streamed and not kept'),
  }),
  search: section({
    max_bytes: size('128MiB', 'memory for the search index, beside that of the process that reads it'),
    dir: optionalText('folder of the search index, a cache; default in the data folder'),
  }),
  log: section({
    level: Type.Enum([...LOG_LEVELS], { default: 'info', description: 'least severe level logged' }),
    format: Type.Enum([...LOG_FORMATS], { default: 'auto', description: 'auto: pretty on a terminal' }),
  }),
})

export type Settings = Decoded<typeof contentSchema>
