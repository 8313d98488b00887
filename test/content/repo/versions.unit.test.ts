import { fc } from '../../support/fast-check.ts'
import { expect, test } from 'vitest'
import { parseMeta } from '../../../src/content/repo/meta.ts'
import { latestOf, namedVersions, sortVersions, versionNamed } from '../../../src/content/repo/versions.ts'

test.each([
  ['a patch of an old version published last', ['1.0.1', '2.0.0', '1.0.0'], '2.0.0'],
  ['missing numbers', ['2', '10', '9.9'], '10'],
  ['a release after its pre-release', ['2.0.0', '2.0.0-rc.1'], '2.0.0'],
  ['a pre-release of the next version', ['3.0.0-beta', '2.0.0'], '2.0.0'],
  [
    'only pre-releases',
    ['1.0.0-alpha', '1.0.0-alpha.beta', '1.0.0-beta.11', '1.0.0-beta.2'],
    '1.0.0-beta.11',
  ],
  ['a leading v', ['v1.9', 'v1.10'], 'v1.10'],
  ['a name that is no semantic version', ['main', '0.1-rc1'], '0.1-rc1'],
  ['only such names, the one published last', ['winter', 'autumn'], 'winter'],
  ['equal versions, the one published last', ['v2.0', '2.0'], 'v2.0'],
  ['leading zeros of dates', ['2024.2.1', '2024.10.01'], '2024.10.01'],
  ['nothing', [], undefined],
])('the latest of %s: %j is %s', (_what, versions, latest) => {
  expect(latestOf({ versions })).toBe(latest)
})

test('a version that expires is never the latest', () => {
  const expires = new Map([['9.0', 1]])
  expect(latestOf({ versions: ['9.0', 'main', '1.0'], expires })).toBe('1.0')
  expect(latestOf({ versions: ['9.0'], expires })).toBeUndefined()
})

test('the order of semver.org, section 11, does not depend on the input', () => {
  const order = '1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1'
  const expected = ['1.0.0', ...order.split(' ').toReversed()]
  fc.assert(
    fc.property(fc.shuffledSubarray(expected, { minLength: expected.length }), (versions) => {
      expect(sortVersions(versions)).toEqual(expected)
    }),
  )
})

test('any names are sorted to the same versions, and the first is the latest', () => {
  const part = fc.constantFrom('1', '0', '2', '10', '.', '-', 'v', 'rc', 'a')
  const name = fc.array(part, { minLength: 1, maxLength: 7 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(fc.uniqueArray(name), (versions) => {
      const sorted = sortVersions(versions)
      expect(sorted.toSorted()).toEqual(versions.toSorted())
      expect(sortVersions(sorted)).toEqual(sorted)
    }),
  )
})

const meta = (value: unknown) => parseMeta('guide', Buffer.from(JSON.stringify(value)))

test('a version takes precedence over an alias, and only listed versions have aliases', () => {
  const repo = meta({
    versions: ['2.0', '1.0', 'next'],
    latest: '2.0',
    aliases: { stable: '1.0', next: '1.0', gone: '0.9', '../x': '1.0', latest: '1.0', constructor: 1 },
  })
  expect(repo.aliases).toEqual(new Map([['stable', '1.0']]))
  const names = ['stable', 'latest', '1.0', 'next', 'gone', 'constructor', 'toString', '']
  expect(names.map((name) => versionNamed(repo, name))).toEqual([
    '1.0',
    '2.0',
    '1.0',
    'next',
    undefined,
    undefined,
    undefined,
    undefined,
  ])
  expect(namedVersions(repo)).toEqual([
    { version: '2.0', aliases: ['latest'] },
    { version: '1.0', aliases: ['stable'] },
    { version: 'next', aliases: [] },
  ])
})

test('a version with the name "latest" is that version', () => {
  const repo = meta({ versions: ['latest', '1.0'], latest: '1.0' })
  expect(versionNamed(repo, 'latest')).toBe('latest')
  expect(namedVersions(repo)).toEqual([
    { version: '1.0', aliases: [] },
    { version: 'latest', aliases: [] },
  ])
})
