import { expect, test } from 'vitest'
import { cheapHash } from '../../../support/content/cheap-hash.ts'
import { startContent } from '../../../support/content/content-server.ts'

const NAMES = Array.from({ length: 120 }, (_, at) => `user${at}`)
const users = NAMES.map((name) => ({ name, password_hash: cheapHash(`pw-${name}`) }))

/** Starts a server behind a proxy that names addresses, with a clock that does not advance. */
async function start(hash?: (name: string) => string) {
  const { logIn } = await startContent(
    {},
    {
      clock: { nowMs: () => 0, wallMs: () => 1_000_000 },
      settings: {
        users: hash === undefined ? users : NAMES.map((name) => ({ name, password_hash: hash(name) })),
        http: { port: 0, trusted_proxies: ['127.0.0.1'] },
      },
    },
  )
  const attempt = async (username: string, address: string, password = 'wrong') => {
    const { status, headers } = await logIn({ username, password }, { 'x-forwarded-for': address })
    return { status, retryAfter: headers.get('retry-after') }
  }
  return {
    attempt,
    status: async (...words: Parameters<typeof attempt>) => (await attempt(...words)).status,
    logIn: async (name: string, address: string) => (await attempt(name, address, `pw-${name}`)).status,
  }
}

test(
  'O2 an office behind one address can log in at the same time, even if half of it mistypes',
  { tags: ['long'] },
  async () => {
    const { status, logIn } = await start()
    for (const [at, name] of NAMES.entries()) {
      if (at % 2 === 0 && at < 100) expect(await status(name, '10.0.0.1')).toBe(401)
      expect([name, await logIn(name, '10.0.0.1')]).toEqual([name, 303])
    }
  },
)

test('O2 guessing one password locks out nobody else at that address, nor that user elsewhere', async () => {
  const { status, logIn } = await start()
  for (let i = 0; i < 5; i++) expect(await status('user0', '10.0.0.1')).toBe(401)
  for (let i = 0; i < 200; i++) expect(await status('user0', '10.0.0.1')).toBe(429)
  expect(await logIn('user0', '10.0.0.1')).toBe(429)
  expect(await logIn('user0', '10.0.0.2')).toBe(303)
})

test(
  'O2 trying a list of names is refused, but the owners of these names can log in',
  { tags: ['long'] },
  async () => {
    const { status, logIn } = await start()
    const statuses: number[] = []
    for (const name of NAMES) statuses.push(await status(name, '10.0.0.1'))
    expect(statuses.filter((each) => each === 401)).toHaveLength(60)
    expect(statuses.at(-1)).toBe(429)
    for (const name of NAMES.slice(0, 10)) expect(await logIn(name, '10.0.0.2')).toBe(303)
  },
)

test(
  'O2 many addresses can guess one password a hundred times a minute, and lock out nobody else',
  { tags: ['long'] },
  async () => {
    const { status, logIn } = await start()
    const statuses: number[] = []
    for (let i = 0; i < 130; i++) statuses.push(await status('user0', `10.1.${i}.1`))
    expect(statuses.filter((each) => each === 401)).toHaveLength(100)
    expect(await logIn('user1', '10.1.1.1')).toBe(303)
  },
)

test('O2 a thousand failures from everywhere lock out nobody', { tags: ['long'] }, async () => {
  const { status, logIn } = await start()
  for (let first = 0; first < 1_000; first += 8) {
    const batch = Array.from({ length: 8 }, (_, at) => first + at)
    const statuses = batch.map((i) => status(NAMES[i % 100] ?? '', `10.${i % 250}.${i % 7}.1`))
    expect(await Promise.all(statuses)).toEqual(batch.map(() => 401))
  }
  expect(await logIn('user110', '192.0.2.1')).toBe(303)
  expect(await logIn('user1', '192.0.2.1')).toBe(303)
})

test('O2 a login resets the attempts of its user at its address, but no others', async () => {
  const { status, logIn } = await start()
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 4; i++) expect(await status('user0', '10.0.0.1')).toBe(401)
    expect(await logIn('user0', '10.0.0.1')).toBe(303)
  }
  for (let i = 0; i < 48; i++) expect(await status(`nobody${i}`, '10.0.0.1')).toBe(401)
  expect(await status('one more', '10.0.0.1')).toBe(429)
})

test(
  'O2 hashing is limited, excess requests get a time to retry, and one address cannot fill the queue',
  { tags: ['long'] },
  async () => {
    // Some 200 ms each: many times as long as a request takes to arrive, even on a loaded machine.
    const { attempt } = await start(() => '$scrypt$ln=17,r=8,p=1$c2FsdHNhbHRzYWx0$q83vEjRWeJq83vEjRWeJqw')
    const flood = NAMES.slice(0, 40).map((name) => attempt(name, '10.0.0.1'))
    const others = NAMES.slice(40, 50).map((name, at) => attempt(name, `10.0.1.${at}`))
    const [refused, passed] = [await Promise.all(flood), await Promise.all(others)]
    expect(passed.map(({ status }) => status)).toEqual(others.map(() => 401))
    const later = refused.filter(({ status }) => status === 429)
    expect(later.length).toBeGreaterThan(10)
    expect(later.every(({ retryAfter }) => retryAfter === '1')).toBe(true)
  },
)
