import { expect, test } from 'vitest'
import { AccessRules, type AccessRule, type Identity } from '../../../src/content/access/access-rules.ts'
import { checkAccess } from '../../../src/content/access/check-access.ts'
import { visibleRepos } from '../../../src/content/access/grants.ts'
import { matchesPattern } from '../../../src/content/access/repo-pattern.ts'

const RULES: readonly AccessRule[] = [
  { repos: ['open', 'open-*'], public: true },
  { repos: ['shared'], readers: true },
  { repos: ['hr', 'hr-*'], users: ['ann'], groups: ['hr'] },
  { repos: ['legal'], emailDomains: ['Law.example'], users: ['Bob@corp.example'] },
  { repos: ['closed'] },
  { repos: ['proto'], groups: ['__proto__', 'a,b', '*', 'Ünïcode group'] },
]

const READERS: Readonly<Record<string, Identity>> = {
  ann: { name: 'ann', groups: [] },
  bob: { name: 'bob', groups: ['hr-managers', 'HR', ' hr'] },
  member: { name: 'carl', groups: ['x', 'hr'] },
  lawyer: { name: 'lea@law.example', groups: [] },
  bobByMail: { name: 'bob@corp.example', groups: [] },
  stranger: { name: 'law.example@evil.example', groups: [] },
  unverified: { name: undefined, groups: [] },
  shared: { name: '', groups: [] },
  odd: { name: 'constructor', groups: ['__proto__'] },
  star: { name: '*', groups: ['*'] },
}

const REPOS = ['open', 'open-x', 'shared', 'hr', 'hr-pay', 'legal', 'closed', 'proto', 'other', 'constructor']

/** Repositories that each reader may read, without and with `default: nobody`. */
const EXPECTED: Readonly<Record<string, string>> = {
  visitor: 'open open-x',
  ann: 'open open-x shared hr hr-pay',
  bob: 'open open-x shared',
  member: 'open open-x shared hr hr-pay',
  lawyer: 'open open-x shared legal',
  bobByMail: 'open open-x shared legal',
  stranger: 'open open-x shared',
  unverified: 'open open-x shared',
  shared: 'open open-x shared',
  odd: 'open open-x shared proto',
  star: 'open open-x shared proto',
}

test.each(Object.keys(EXPECTED))(
  'O8 the rules decide what %s may read, by default everything else or nothing',
  (who) => {
    for (const without of ['readers', 'nobody'] as const) {
      const rules = new AccessRules({ default: without, rules: RULES })
      const reader = READERS[who]
      const grants = reader === undefined ? rules.visitor : rules.grantsOf(reader)
      const others = without === 'readers' && reader !== undefined ? ' other constructor' : ''
      // Twice: the second time from memory.
      for (let i = 0; i < 2; i++)
        expect(REPOS.filter((repo) => grants.mayRead(repo)).join(' ')).toBe(EXPECTED[who] + others)
      const repos = new Map(REPOS.map((name) => [name, { name }]))
      expect([...visibleRepos(repos, grants).keys()].join(' ')).toBe(EXPECTED[who] + others)
    }
  },
)

test('O8 without rules everyone who has logged in reads everything, and nobody else anything', () => {
  const rules = new AccessRules({ default: 'readers', rules: [] })
  expect(rules.grantsOf({ name: undefined, groups: [] }).mayRead('any')).toBe(true)
  expect([rules.visitor.mayRead('any'), rules.hasPublic]).toEqual([false, false])
  const closed = new AccessRules({ default: 'nobody', rules: [] })
  expect(closed.grantsOf({ name: 'ann', groups: [] }).mayRead('any')).toBe(false)
})

test('O8 the first matching rule decides, and no other spelling of a name evades it', () => {
  const rules = new AccessRules({
    default: 'readers',
    rules: [
      { repos: ['hr'], groups: ['hr'] },
      { repos: ['h*'], readers: true },
    ],
  })
  const grants = rules.grantsOf({ name: 'bob', groups: [] })
  for (const name of ['hr', 'HR', 'Hr', 'ｈｒ']) expect([name, grants.mayRead(name)]).toEqual([name, false])
  for (const name of ['hrx', 'h', 'r', '']) expect([name, grants.mayRead(name)]).toEqual([name, true])
  const secret = new AccessRules({ default: 'readers', rules: [{ repos: ['secrets-k'] }] })
  // A long s and a Kelvin sign, which some file systems treat as an s and a k.
  for (const name of ['ſecrets-k', 'secrets-\u212a'])
    expect(secret.grantsOf({ name: 'bob', groups: [] }).mayRead(name)).toBe(false)
})

test('O8 a client limited to repositories reads those and public ones', () => {
  const rules = new AccessRules({ default: 'readers', rules: RULES })
  const grants = rules.grantsWithin(['hr', 'legal*'])
  expect(REPOS.filter((repo) => grants.mayRead(repo))).toEqual(['open', 'open-x', 'hr', 'legal'])
  expect(grants.hasSite).toBe(false)
})

test.each([
  ['a', 'a', true],
  ['a', 'ab', false],
  ['ab', 'a', false],
  ['*', '', true],
  ['', '', true],
  ['', 'a', false],
  ['a*', 'a', true],
  ['*a', 'bba', true],
  ['*a', 'bab', false],
  ['a*c*e', 'abcde', true],
  ['a*c*e', 'abced', false],
  ['a**b', 'ab', true],
  ['a.c', 'abc', false],
  ['[a]', 'a', false],
  ['*aa*', 'xaay', true],
] as const)('pattern %j and name %j: %s', (pattern, name, isMatch) => {
  expect(matchesPattern(pattern, name)).toBe(isMatch)
})

test('a pattern with many stars is matched without exponential time', () => {
  expect(matchesPattern(`${'*a'.repeat(60)}*b`, 'a'.repeat(2_000))).toBe(false)
})

test.each([
  [[{ repos: ['a/b'] }], 'is not a repository'],
  [[{ repos: ['a'], public: true, readers: true }], 'mutually exclusive'],
  [[{ repos: ['a'], public: true, users: ['ann'] }], 'mutually exclusive'],
  [[{ repos: ['a'], users: ['amn'] }], 'user "amn" is not in "users"'],
  [[{ repos: ['a'], groups: ['hr'] }], 'no reader has groups'],
  [[{ repos: ['*'], readers: true }, { repos: ['a'] }], '"access.rules.1" is never used'],
] as const)('checkAccess reports a mistake in %j', (rules, sentence) => {
  expect(checkAccess(rules, { users: ['ann'], hasGroups: false })).toContain(sentence)
})

test('checkAccess accepts rules for readers who are known only after their login', () => {
  const rules = [
    { repos: ['a'], users: ['amn'], groups: ['hr'], emailDomains: ['x.example'] },
    { repos: ['b'] },
  ]
  expect(checkAccess(rules, { users: undefined, hasGroups: true })).toBeUndefined()
})
