import { expect, test } from 'vitest'
import { loadContentConfig } from '../../src/content/config.ts'
import { tempDir } from '../support/temp-dir.ts'

const load = (flags: Readonly<Record<string, unknown>>) => {
  const dir = tempDir()
  return loadContentConfig({ HOME: dir }, { flags, cwd: dir }).config
}
const oidc = (more: object) => ({ oidc: { issuer: 'https://id.example', client_id: 'docs', ...more } })
const rule = (domain: string) => ({
  ...oidc({}),
  access: { rules: [{ repos: ['a'], email_domains: [domain] }] },
})

test.each([
  ['public_url', { http: { public_url: 'https://intra.example/docs' } }],
  ['public_url', { http: { public_url: 'https://intra.example/?x' } }],
  ['public_url', { http: { public_url: 'https://intra.example/#x' } }],
  ['public_url', { http: { public_url: 'https://user@intra.example' } }],
  ['public_url', { http: { public_url: 'intra.example:8090' } }],
  ['public_url', { http: { public_url: 'ftp://intra.example' } }],
  ['repo_domain', { http: { repo_domain: 'https://docs.example' } }],
  ['repo_domain', { http: { repo_domain: 'docs.example:8090' } }],
  ['repo_domain', { http: { repo_domain: '*.docs.example' } }],
  ['allowed_hosts', { http: { allowed_hosts: ['docs.example:8090'] } }],
  ['allowed_hosts', { http: { allowed_hosts: ['https://docs.example'] } }],
  ['allowed_hosts', { http: { allowed_hosts: ['docs.*'] } }],
  ['http.host', { http: { host: 'http://x' } }],
  ['http.host', { http: { host: 'localhost:80' } }],
  ['http.host', { http: { host: '[::1]' } }],
  ['http.host', { http: { host: 'docs.example/' } }],
  ['repo_domain', { http: { repo_domain: '10.0.0.1' } }],
  ['repo_domain', { http: { repo_domain: '127.1' } }],
  ['repo_domain', { http: { repo_domain: 'docs.0x7f' } }],
  ['repo_domain', { http: { repo_domain: '::1' } }],
  ['trusted_proxies', { http: { trusted_proxies: ['proxy.example'] } }],
  ['trusted_proxies', { http: { trusted_proxies: ['::ffff:10.0.0.0/8'] } }],
  ['trusted_proxies', { http: { trusted_proxies: ['fe80::1%eth0'] } }],
  ['trusted_proxies', { http: { trusted_proxies: ['10.0.0.0/33'] } }],
  ['trusted_proxies', { http: { trusted_proxies: ['10.0.0.0/8/8'] } }],
  ['issuer', oidc({ issuer: 'id.example:443' })],
  ['https://id.example/realm', oidc({ issuer: 'https://id.example/realm?a=b' })],
  ['issuer', oidc({ issuer: 'https://id.example/?' })],
  ['issuer', oidc({ issuer: 'https://u@id.example/.well-known/openid-configuration?p=a' })],
  ['issuer', oidc({ issuer: 'https://id.example#a' })],
  ['issuer', oidc({ issuer: 'https://user@id.example' })],
  ['issuer', oidc({ issuer: 'https://:secret@id.example' })],
  ['allowed_domains', oidc({ allowed_domains: ['@docs.example'] })],
  ['allowed_domains', oidc({ allowed_domains: ['*.docs.example'] })],
  ['allowed_emails', oidc({ allowed_emails: ['docs.example'] })],
  ['allowed_emails', oidc({ allowed_emails: ['@docs.example'] })],
  ['allowed_domains', oidc({ allowed_emails: ['*@docs.example'] })],
  ['allowed_emails', oidc({ allowed_emails: ['ann@*.example'] })],
  ['allowed_emails', oidc({ allowed_emails: ['<ann@docs.example>'] })],
  ['access.rules.0.email_domains', rule('@docs.example')],
  ['store.endpoint', { store: { type: 's3', bucket: 'b', endpoint: 'minio:9000' } }],
  ['http://minio:9000/x', { store: { type: 's3', bucket: 'b', endpoint: 'http://key:secret@minio:9000/x' } }],
  ['store.endpoint', { store: { type: 's3', bucket: 'b', endpoint: 'http://minio:9000?x' } }],
  ['store.endpoint', { store: { type: 's3', bucket: 'b', endpoint: 'http://minio:9000/#x' } }],
  ['store.bucket', { store: { bucket: 'b' } }],
])('a value of %s that the server cannot honor is refused by name: %j', (key, settings) => {
  expect(() => load(settings)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
  expect(() => load(settings)).toThrow(key)
  expect(() => load(settings)).not.toThrow('secret')
})

test.each([
  { http: { public_url: 'https://docs.example' } },
  { http: { public_url: 'http://docs.example:8090/' } },
  { http: { public_url: 'http://[::1]:8090' } },
  ...['0.0.0.0', '::', '::1', 'localhost', 'docs.example', 'fe80::1%lo'].map((host) => ({ http: { host } })),
  { http: { repo_domain: 'Docs.example' } },
  { http: { repo_domain: 'localhost' } },
  { http: { allowed_hosts: ['*', '*.docs.example', 'docs', '::1', 'xn--bcher-kva.example'] } },
  { http: { trusted_proxies: ['127.0.0.1', '10.1.2.3/8', '::ffff:10.0.0.0/104', 'fd00::/8', '::1'] } },
  oidc({
    allowed_domains: ['docs.example'],
    allowed_emails: ['ann+x@docs.example', "o'ann@b\u00fccher.example"],
  }),
  oidc({ issuer: 'http://127.0.0.1:9000/realms/docs' }),
  oidc({ issuer: 'https://t.b2clogin.com/t.example/v2.0/.well-known/openid-configuration?p=B2C_1_signin' }),
  { store: { type: 's3', bucket: 'b', endpoint: 'http://127.0.0.1:9000' } },
  { store: { type: 's3', bucket: 'b', endpoint: 'https://minio.example/storage/s3' } },
])('the configuration %j is accepted', (settings) => {
  expect(() => load(settings)).not.toThrow()
})
