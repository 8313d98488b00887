import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/lib/clock/clock.ts'
import { FileSessionStore } from '../../../src/content/session/file-session-store.ts'
import { createSecret, createToken, isSecret } from '../../../src/content/session/service-token.ts'
import { ServiceTokens } from '../../../src/content/session/service-tokens.ts'
import { digestOf } from '../../../src/lib/http/secret-form.ts'
import { tokenSuite } from '../../support/content/token-suite.ts'
import { tempDir } from '../../support/temp-dir.ts'

async function openFile() {
  const file = join(tempDir(), 'sessions.db')
  const store = await FileSessionStore.open(file, systemClock)
  onTestFinished(() => store.close())
  return { file, store, again: () => FileSessionStore.open(file, systemClock) }
}

tokenSuite('the session file', openFile)

test('O9 a token is valid until it expires, and ends within a second of its revocation', async () => {
  const { file, store } = await openFile()
  const time = { nowMs: 0, wallMs: 1_000 }
  const tokens = new ServiceTokens(store, { nowMs: () => time.nowMs, wallMs: () => time.wallMs })
  const secret = createSecret()
  await store.addToken(digestOf(secret), createToken({ name: 'ci', repos: ['a'], lifetimeMs: 500 }, 1_000))
  expect(tokens.find(secret)).toMatchObject({ name: 'ci', expiresMs: 1_500 })
  // Its digest, name and other spellings are not secrets.
  for (const wrong of [digestOf(secret), 'ci', secret.toUpperCase(), `${secret} `, createSecret(), ''])
    expect([wrong, tokens.find(wrong)]).toEqual([wrong, undefined])
  expect(readFileSync(file, 'latin1') + readFileSync(`${file}-wal`, 'latin1')).not.toContain(secret.slice(4))
  time.wallMs = 1_500
  expect(tokens.find(secret)).toBeUndefined()
  time.wallMs = 1_499
  await store.removeToken('ci')
  time.nowMs = 999
  expect(tokens.find(secret)).toMatchObject({ name: 'ci' })
  time.nowMs = 1_000
  expect(tokens.find(secret)).toBeUndefined()
})

test.each([
  [{ name: '' }, 'is not a valid name'],
  [{ name: '-rf' }, 'is not a valid name'],
  [{ name: 'a/b' }, 'is not a valid name'],
  [{ name: 'a\nb' }, 'is not a valid name'],
  [{ name: 'x'.repeat(129) }, 'is not a valid name'],
  [{ repos: [] }, '1 to 100 repositories'],
  [{ repos: Array.from({ length: 101 }, () => 'a') }, '1 to 100 repositories'],
  [{ repos: ['a/b'] }, 'is not a valid name or pattern'],
  [{ repos: ['a', ''] }, 'is not a valid name or pattern'],
  [{ repos: ['a\0'] }, 'is not a valid name or pattern'],
  [{ lifetimeMs: 0 }, 'must expire'],
  [{ lifetimeMs: 86_400_000 * 3_651 }, 'must expire'],
])('createToken refuses %j', (given, sentence) => {
  expect(() => createToken({ name: 'ci', repos: ['a'], lifetimeMs: 1, ...given }, 0)).toThrow(sentence)
})

test('every secret is different and has its form', () => {
  const secrets = Array.from({ length: 100 }, createSecret)
  expect([new Set(secrets).size, secrets.every(isSecret)]).toEqual([100, true])
})
