import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { startContent } from '../../support/content/content-server.ts'
import { RepoBrowser } from '../../support/content/repo-browser.ts'
import { RedisSessionStore } from '../../../src/content/session/redis-session-store.ts'
import { tokenSuite } from '../../support/content/token-suite.ts'
import { freePort } from '../../support/services/free-port.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'

const FILES = { 'repos/a/index.html': 'secret page' }

async function startRedis(port: number, dir = tempDir()): Promise<ChildProcess> {
  const child = spawn(
    'redis-server',
    [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--dir',
      dir,
      '--appendonly',
      'yes',
      '--appendfsync',
      'always',
    ],
    { stdio: 'ignore' },
  )
  onTestFinished(() => void child.kill('SIGKILL'))
  const redis = new Redis({ port, lazyConnect: true, retryStrategy: () => 50 })
  redis.on('error', () => undefined)
  await waitFor('redis', async () => (await redis.ping().catch(() => '')) === 'PONG')
  redis.disconnect()
  return child
}

test('O7 logins and logouts are valid on every host that shares a Redis', async () => {
  const port = await freePort()
  await startRedis(port)
  let nowMs = 0
  const clock = { nowMs: () => nowMs, wallMs: Date.now }
  const settings = { session: { store: `redis://127.0.0.1:${port}`, secure: false } }
  const [one, other] = [
    await startContent(FILES, { settings, clock }),
    await startContent(FILES, { settings, clock }),
  ]
  const headers = { cookie: one.cookie }
  const status = async (): Promise<number> => (await other.askAnonymous('/repos/a/', { headers })).status
  expect(await status()).toBe(200)
  await one.ask('/_logout', { method: 'POST' })
  expect((await one.askAnonymous('/repos/a/', { headers })).status).toBe(302)
  nowMs += 1_000
  expect(await status()).toBe(302)
  const redis = new Redis({ port })
  onTestFinished(() => redis.disconnect())
  const keys = await redis.keys('*')
  // A reader of the store cannot log in with its content.
  expect(keys.join(' ')).not.toContain(one.cookie.slice('_session='.length))
  const ttl = await redis.pttl(keys.find((key) => key.includes(':session:')) ?? '')
  expect(ttl).toBeGreaterThan(89 * 86_400_000)
})

test('O2 attempts are counted across all hosts', async () => {
  const port = await freePort()
  await startRedis(port)
  const settings = { session: { store: `redis://127.0.0.1:${port}`, secure: false } }
  const servers = [await startContent(FILES, { settings }), await startContent(FILES, { settings })]
  const statuses: number[] = []
  for (let i = 0; i < 6; i++) statuses.push((await servers[i % 2]?.logIn({ password: 'wrong' }))?.status ?? 0)
  expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
})

test('without its Redis nobody is admitted or logged out, and sessions continue when it is back', async () => {
  const port = await freePort()
  const dir = tempDir()
  const first = await startRedis(port, dir)
  let nowMs = 0
  const clock = { nowMs: () => nowMs, wallMs: Date.now }
  const settings = { session: { store: `redis://127.0.0.1:${port}`, secure: false } }
  const { ask, logIn } = await startContent(FILES, { settings, clock })
  expect((await ask('/repos/a/')).status).toBe(200)
  const gone = once(first, 'exit')
  first.kill('SIGKILL')
  await gone
  nowMs += 5_000
  for (const answer of [await ask('/repos/a/'), await ask('/_api/repos'), await logIn()]) {
    expect(answer.status).toBe(503)
    // The location of the sessions must not be revealed.
    expect(await answer.text()).not.toMatch(/redis|127\.0\.0\.1|retr/iu)
  }
  expect((await ask('/_health')).status).toBe(200)
  await startRedis(port, dir)
  await waitFor('the session', async () => (await ask('/repos/a/')).status === 200)
})

test('O6 hosts that share a Redis accept a handoff once, and end its session together', async () => {
  const port = await freePort()
  await startRedis(port)
  let nowMs = 0
  const clock = { nowMs: () => nowMs, wallMs: Date.now }
  const settings = {
    http: { port: 0, repo_domain: 'docs.example' },
    session: { store: `redis://127.0.0.1:${port}`, secure: false },
  }
  const [one, other] = [
    await startContent(FILES, { settings, clock }),
    await startContent(FILES, { settings, clock }),
  ]
  const browser = new RepoBrowser(one.url)
  await browser.ask('//docs.example/_login', 'POST', new URLSearchParams({ password: 'right' }))
  const away = await browser.ask('//a.docs.example/')
  const { headers } = await browser.ask(String(away.headers['location']))
  const here = browser.ask(String(headers['location']))
  browser.moveTo(other.url)
  const there = browser.ask(String(headers['location']))
  expect([(await here).status, (await there).status].toSorted((a, b) => a - b)).toEqual([303, 403])
  expect((await browser.ask('//a.docs.example/')).body).toBe('secret page')
  browser.moveTo(one.url)
  await browser.ask('//docs.example/_logout', 'POST')
  browser.moveTo(other.url)
  nowMs += 1_000
  expect((await browser.ask('//a.docs.example/')).status).toBe(302)
})

tokenSuite('Redis', async () => {
  const port = await freePort()
  await startRedis(port)
  const again = () => RedisSessionStore.open(`redis://127.0.0.1:${port}`)
  const store = await again()
  onTestFinished(() => store.close())
  return { store, again }
})

test('O8 groups of a session in Redis survive, and an older session has none', async () => {
  const port = await freePort()
  await startRedis(port)
  const store = await RedisSessionStore.open(`redis://127.0.0.1:${port}`)
  onTestFinished(() => store.close())
  const session = { user: 'ann', proof: 'oidc:x', expiresMs: Date.now() + 60_000 }
  await store.add('old', session)
  await store.add('new', { ...session, groups: ['hr', '"'], isVerified: true })
  expect(await store.find('old')).toEqual(session)
  expect(await store.find('new')).toEqual({ ...session, groups: ['hr', '"'], isVerified: true })
})
