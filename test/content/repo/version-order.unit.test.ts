import { expect, test } from 'vitest'
import { compareVersions, parseVersion } from '../../../src/content/repo/version-order.ts'
import { latestOf, sortVersions } from '../../../src/content/repo/versions.ts'
import { VERSION_ORDERS } from '../../support/content/version-orders.ts'

const parsed = (name: string) => {
  const version = parseVersion(name)
  if (version === undefined) throw new Error(`${name} is not a version`)
  return version
}

test.each(VERSION_ORDERS)('versions have the order that %s documents', (_where, names) => {
  const versions = names.split(' ').map(parsed)
  for (const [at, version] of versions.entries())
    for (const [next, later] of versions.entries())
      expect([at, next, Math.sign(compareVersions(version, later))]).toEqual([at, next, Math.sign(at - next)])
})

test.each([
  ['1.0', '1 1.0.0 v1.0 V1.0 1.0.Final 1.0-ga 1.0.0.RELEASE'],
  ['1.0rc1', '1.0-rc.1 1.0_RC_1 1.0.c1 1.0-cr1 1.0preview1'],
  ['1.0.post1', '1.0-1 1.0-r1 1.0rev1 1.0-SP1'],
  ['1.0a1', '1.0-alpha-1 1.0.Alpha1'],
])('%s equals %s', (name, others) => {
  for (const other of others.split(' '))
    expect([other, compareVersions(parsed(name), parsed(other))]).toEqual([other, 0])
})

test.each([
  'main',
  'latest',
  '2.x',
  '1.0.',
  '1.0-',
  '1.0.x',
  '2x',
  '1a2b3c4',
  '0e12345',
  '2.0.foo',
  'v',
  '-1',
  '1.0rc1+local',
  '',
])('%j is not a version', (name) => {
  expect(parseVersion(name)).toBeUndefined()
})

test.each([
  // The one published last first.
  ['4.0.0.1 3.0.0', '4.0.0.1'],
  ['3.0.0 4.0.0.1', '4.0.0.1'],
  ['2.1.0.Alpha1 2.0.0.Final', '2.0.0.Final'],
  ['2.0.0.Final 2.0.0.CR1', '2.0.0.Final'],
  ['2.11rc1 2.10', '2.10'],
  ['2.11rc1 2.10rc2', '2.11rc1'],
  ['1.0.post1.dev2 1.0', '1.0'],
  ['1.0.post1 1.0', '1.0.post1'],
  ['1.1-SNAPSHOT 1.0', '1.0'],
  ['1.0.0-1 0.9.0', '0.9.0'],
  ['main 5.0.0.M1', '5.0.0.M1'],
  ['7.1.0.Final-redhat-00001 7.0.0', '7.1.0.Final-redhat-00001'],
  ['18-ea 17', '17'],
  ['2024-05 2024-11', '2024-11'],
  ['1.1.1a 1.1.1w 1.1.1', '1.1.1w'],
  ['3.3 3.3d', '3.3d'],
  ['0.9.8zh 0.9.8y 0.9.8za', '0.9.8zh'],
  ['2023d 2024b 2024a', '2024b'],
  ['1.0.0-p1 1.0.0-patch.1 1.0.0-u1 0.9.0', '0.9.0'],
  ['1.0b 1.0 1.0a', '1.0'],
  ['1.0b 1.0a', '1.0b'],
  ['2.0 2.0.SR2 2.0.SR1', '2.0.SR2'],
  ['2.0 2.0p2', '2.0p2'],
  ['2.0 2.0-pl2', '2.0-pl2'],
  ['8 8u1 8u2', '8u2'],
  ['23.10 24.04-LTS', '24.04-LTS'],
  ['2.0.0-lts 1.9.0', '2.0.0-lts'],
  ['1a2b3c4 deadbee 1.0', '1.0'],
])('of %s, the latest is %s', (names, latest) => {
  expect(latestOf({ versions: names.split(' ') })).toBe(latest)
})

test('releases are before pre-releases, and other names are last in the given order', () => {
  const names = '2.x 2.11rc1 main 2.9 3.0-alpha 2.10.0.1 2.10'
  expect(sortVersions(names.split(' '))).toEqual('2.10.0.1 2.10 2.9 3.0-alpha 2.11rc1 2.x main'.split(' '))
})
