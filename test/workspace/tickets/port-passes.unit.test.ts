import { expect, test } from 'vitest'
import { type Principal, SERVER } from '../../../src/workspace/team/access-control.ts'
import { PortPasses } from '../../../src/workspace/tickets/port-passes.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const demo = { workspace: { name: 'demo', createdAt: new Date(1_000) }, port: 3_000 }
const holders: readonly Principal[] = [
  SERVER,
  { is: 'token', userId: 'u', tokenId: 't' },
  { is: 'key', userId: 'u', fingerprint: 'SHA256:f' },
]

test.each(holders)('a pass of $is is valid until it expires, also for the next server', async (holder) => {
  const clock = new FakeClock()
  const { ticket, expiresAt } = new PortPasses({ text: 'token' }, clock).issue('link', demo, holder, 60_000)
  expect(expiresAt).toEqual(new Date(60_000))
  await clock.pass(59_999)
  const next = new PortPasses({ text: 'token' }, clock)
  expect(next.find('link', demo, ticket)).toEqual({ holder, leftMs: 1 })
  await clock.pass(1)
  expect(next.find('link', demo, ticket)).toBeUndefined()
})

test('a pass admits only to what it was issued for, and to a workspace in any case of its name', () => {
  const passes = new PortPasses({ text: 'token' }, new FakeClock())
  const { ticket } = passes.issue('link', demo, SERVER, 60_000)
  const { workspace } = demo
  const others = [
    { ...demo, port: 3_001 },
    { ...demo, workspace: { ...workspace, name: 'other' } },
    { ...demo, workspace: { ...workspace, createdAt: new Date(2_000) } },
  ]
  for (const other of others) expect(passes.find('link', other, ticket)).toBeUndefined()
  expect(passes.find('grant', demo, ticket)).toBeUndefined()
  expect(passes.find('link', { ...demo, workspace: { ...workspace, name: 'DEMO' } }, ticket)).toBeDefined()
})

test.each(['another token', undefined])('a server with the token %s admits no earlier pass', (token) => {
  const clock = new FakeClock()
  const secretOf = (text: string | undefined) => (text === undefined ? undefined : { text })
  for (const earlier of ['token', undefined]) {
    const { ticket } = new PortPasses(secretOf(earlier), clock).issue('link', demo, SERVER, 60_000)
    expect(new PortPasses(secretOf(token), clock).find('link', demo, ticket)).toBeUndefined()
  }
})

test('a replaced token ends the passes issued with the previous one', () => {
  const secret = { text: 'token' }
  const passes = new PortPasses(secret, new FakeClock())
  const { ticket } = passes.issue('link', demo, SERVER, 60_000)
  secret.text = 'another token'
  expect(passes.find('link', demo, ticket)).toBeUndefined()
  const { ticket: next } = passes.issue('link', demo, SERVER, 60_000)
  expect(passes.find('link', demo, next)).toBeDefined()
})

test('no changed, shortened or lengthened pass is valid, and none shows its holder', () => {
  const passes = new PortPasses({ text: 'token' }, new FakeClock())
  const holder = { is: 'token', userId: 'user-4711', tokenId: 'token-4712' } as const
  const bytes = Buffer.from(passes.issue('link', demo, holder, 60_000).ticket, 'base64url')
  expect(bytes.toString('latin1')).not.toMatch(/471|user|token|demo/)
  const isValid = (changed: Buffer) => passes.find('link', demo, changed.toString('base64url')) !== undefined
  expect(isValid(bytes)).toBe(true)
  for (let bit = 0; bit < 8 * bytes.length; bit++) {
    const changed = Buffer.from(bytes)
    changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
    expect(isValid(changed)).toBe(false)
  }
  for (let length = 0; length < bytes.length; length++) expect(isValid(bytes.subarray(0, length))).toBe(false)
  expect(isValid(Buffer.concat([bytes, Buffer.alloc(1)]))).toBe(false)
  for (const nonsense of ['', '?', 'A'.repeat(100_000)])
    expect(passes.find('link', demo, nonsense)).toBeUndefined()
})
