import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { likelySecret, readSecret } from '../../../src/content/publish/likely-secrets.ts'
import { createSecret } from '../../../src/content/session/service-token.ts'
import { cheapHash } from '../../support/content/cheap-hash.ts'
import { tempDir } from '../../support/temp-dir.ts'

test.each(
  `
    tls/server.pem server.KEY store.p12 cert.pfx AuthKey_1.p8 me.ppk pass.kdbx
    id_rsa keys/id_ed25519 id_ecdsa_sk .env prod.env env .env.local a/.env.production
    .npmrc npmrc .netrc _netrc .pgpass .htpasswd .git-credentials .pypirc
    credentials credentials.json secrets.yml tokens.txt password.txt Secrets.toml
    service-account.json service_account-prod.json serviceAccountKey.json client_secret_1.json
    terraform.tfstate prod.tfvars kubeconfig docs.yaml~ app.yml.bak settings.json.orig
  `
    .trim()
    .split(/\s+/),
)('%s may contain secrets', (path) => {
  expect(likelySecret(path)).toBe(path)
})

test.each(
  `
    index.html credentials.html secrets/index.html tokens.css password.js environment.html
    id_rsa.pub env.html env.d.ts keyboard.json monkey.png sitemap.xml .well-known/x.txt
    .nojekyll keys.html pem/index.html app.bak credentials.png .gitignore git/config
  `
    .trim()
    .split(/\s+/),
)('%s is a usual file of a site', (path) => {
  expect(likelySecret(path)).toBe(undefined)
})

test('files in a folder of a program with passwords count as the folder', () => {
  expect(likelySecret('a/.git/objects/12/34')).toBe('a/.git')
  expect(likelySecret('.aws/config')).toBe('.aws')
})

test.each([
  ['notes', '-----BEGIN OPENSSH PRIVATE KEY-----\nabc', 'likely secret'],
  ['key.txt', 'Bag Attributes\n-----BEGIN RSA PRIVATE KEY-----', 'likely secret'],
  ['account.json', '{"private_key": "-----BEGIN PRIVATE KEY-----\\n"}', 'likely secret'],
  ['backup.gpg', '-----BEGIN PGP PRIVATE KEY BLOCK-----', 'likely secret'],
  ['other.yaml', `password_hash: "${cheapHash('x')}"`, 'likely secret'],
  ['age', '# created\nAGE-SECRET-KEY-1QQQ', 'likely secret'],
  ['ci', createSecret(), 'service token'],
  ['cert.txt', '-----BEGIN CERTIFICATE-----', undefined],
  ['id.txt', '-----BEGIN PUBLIC KEY-----', undefined],
  ['page.html', '-----BEGIN PRIVATE KEY-----', undefined],
  ['empty', '', undefined],
  ['large.json', `${' '.repeat(70_000)}-----BEGIN PRIVATE KEY-----`, undefined],
] as const)('%s with %j', async (name, text, expected) => {
  const file = join(tempDir(), name)
  writeFileSync(file, text)
  expect(await readSecret(file, text.length)).toBe(expected)
})
