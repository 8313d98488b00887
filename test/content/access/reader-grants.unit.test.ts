import { expect, test } from 'vitest'
import { AccessRules } from '../../../src/content/access/access-rules.ts'
import { ReaderGrants } from '../../../src/content/access/reader-grants.ts'
import { parseGroups, splitGroups } from '../../../src/lib/openid/groups.ts'
import type { Session } from '../../../src/content/session/session-store.ts'

const rules = new AccessRules({
  default: 'nobody',
  rules: [
    { repos: ['users'], users: ['ann', 'ann@corp.example'] },
    { repos: ['groups'], groups: ['hr'] },
    { repos: ['domain'], emailDomains: ['corp.example'] },
  ],
})
const grants = new ReaderGrants(
  rules,
  [
    { name: 'ann', passwordHash: '', groups: ['hr'] },
    { name: 'bob', passwordHash: '' },
  ],
  '|',
)

const session = (more: Partial<Session>): Session => ({
  user: 'ann',
  proof: 'oidc:x y',
  expiresMs: 1,
  ...more,
})

test.each([
  ['a user with a password', session({ proof: 'password:x' }), 'users groups'],
  ['a user without groups in the configuration', session({ user: 'bob', proof: 'password:x' }), ''],
  [
    'a user who claims groups in a stored session',
    session({ user: 'bob', proof: 'password:x', groups: ['hr'] }),
    '',
  ],
  ['a user that was removed', session({ user: 'eve', proof: 'password:x' }), ''],
  ['an account that a provider calls ann', session({}), ''],
  ['an address that is not verified', session({ user: 'ann@corp.example', isVerified: false }), ''],
  ['a session of an earlier version', session({ user: 'ann@corp.example' }), ''],
  ['a verified address', session({ user: 'ann@corp.example', isVerified: true }), 'users domain'],
  ['groups of a provider', session({ user: 'x@y.example', isVerified: true, groups: ['a', 'hr'] }), 'groups'],
  ['groups without a verified address', session({ groups: ['hr'] }), 'groups'],
] as const)('O8 the grants of %s', (_who, given, expected) => {
  const found = grants.ofSession(given)
  expect(['users', 'groups', 'domain'].filter((repo) => found.mayRead(repo)).join(' ')).toBe(expected)
  expect(grants.ofSession(given)).toBe(found)
})

test.each([
  ['ann', '', 'users'],
  ['ann@corp.example', '', 'users domain'],
  ['eve', 'x| hr |y', 'groups'],
  ['eve', 'hr,x', ''],
  ['eve', '"hr"', ''],
  ['eve', 'ann', ''],
] as const)('O8 the grants of user %j and groups %j of a proxy', (name, groups, expected) => {
  const found = grants.ofProxied(name, groups)
  expect(['users', 'groups', 'domain'].filter((repo) => found.mayRead(repo)).join(' ')).toBe(expected)
})

test('a name and a header of groups are not confused', () => {
  expect(grants.ofProxied('eve', 'hr').mayRead('groups')).toBe(true)
  expect(grants.ofProxied('eve","hr', '').mayRead('groups')).toBe(false)
})

test.each([
  [undefined, []],
  [null, []],
  ['hr', ['hr']],
  ['', []],
  ['a,b', ['a,b']],
  [7, []],
  [{ hr: true }, []],
  [[], []],
  [['hr', 'hr', 1, null, '', ['x'], 'x'.repeat(257)], ['hr']],
] as const)('parseGroups reads %j as %j', (claim, expected) => {
  expect(parseGroups(claim, () => false)).toEqual(expected)
})

test('of 10,000 groups those that rules name are kept, and a thousand in total', () => {
  const groups = parseGroups(
    Array.from({ length: 10_000 }, (_, i) => `g${i}`),
    (group) => group === 'g9999',
  )
  expect([groups.length, groups[0]]).toEqual([1_000, 'g9999'])
})

test('splitGroups ignores empty and overlong names', () => {
  expect(splitGroups(`, a ,b b,,${'x'.repeat(257)}`, ',')).toEqual(['a', 'b b'])
})
