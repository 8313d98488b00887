import { expect, test } from 'vitest'
import { maskQuery, maskText, maskValue } from '../../../src/supervisor/api/mask.ts'

const MASK = '********'

test.each([
  'API_TOKEN',
  'STRIPE_KEY',
  'DB_PASSWORD',
  'DB_PASS',
  'DB_PWD',
  'PASSPHRASE',
  'GITHUB_PAT',
  'SENTRY_DSN',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_ACCESS_KEY_ID_KEY',
  'CREDENTIALS',
  'X-Api-Key',
  'X-Auth-Token',
  'X-CSRF-Token',
  'apiKey',
  'access_token',
  'sig',
  'X-Amz-Signature',
])('the value of %s is masked', (name) => {
  expect(maskValue(name, 'value')).toBe(MASK)
})

test.each(['PATH', 'PWD', 'HOME', 'COMPATIBLE', 'KEYBOARD', 'MONKEY_COUNT', 'PORT', 'Accept', 'DESIGN'])(
  'the value of %s is shown',
  (name) => {
    expect(maskValue(name, 'value')).toBe('value')
  },
)

test.each([
  ['postgres://u:pw@h/db', `postgres://u:${MASK}@h/db`],
  ['postgres://u:p@w@h/db', `postgres://u:${MASK}@h/db`],
  ['redis://:pw@h', `redis://:${MASK}@h`],
  ['--url=amqp://u:pw@h/v --other http://h:80/a@b', `--url=amqp://u:${MASK}@h/v --other http://h:80/a@b`],
  ['ghp_abcdefghijklmnopqrst', MASK],
  ['token github_pat_11ABCDEFG0123456789_abc', `token ${MASK}`],
  ['AKIAIOSFODNN7EXAMPLE', MASK],
  ['http://h:80/', 'http://h:80/'],
  ['task-a sk-short', 'task-a sk-short'],
])('of %j is shown %j', (text, shown) => {
  expect(maskText(text)).toBe(shown)
  expect(maskValue('DATABASE_URL', text)).toBe(shown)
})

test.each([
  ['/a?token=x&b=1', `/a?token=${MASK}&b=1`],
  ['/a?b=1&api%5Fkey=x', `/a?b=1&api%5Fkey=${MASK}`],
  ['/a?to=http://u:pw@h/&%zz=1&plain', `/a?to=http://u:${MASK}@h/&%zz=1&plain`],
  ['/token/x', '/token/x'],
])('of the request %j is shown %j', (url, shown) => {
  expect(maskQuery(url)).toBe(shown)
})
