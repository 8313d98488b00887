import { expect, test } from 'vitest'
import { compareVersions, parseVersion, type Version } from '../../../src/content/repo/version-order.ts'
import { fc } from '../../support/fast-check.ts'

const piece = fc.constantFrom(
  '0',
  '1',
  '2',
  '10',
  '01',
  '99999999999999999999',
  '.',
  '-',
  '_',
  'v',
  'a',
  'b',
  'c',
  'm',
  'r',
  'x',
  'alpha',
  'Beta',
  'rc',
  'CR',
  'dev',
  'post',
  'sp',
  'Final',
  'ga',
  'SNAPSHOT',
  'pre',
  'jre',
  'milestone',
)
const version = fc
  .array(piece, { minLength: 1, maxLength: 9 })
  .map((pieces) => pieces.join(''))
  .chain((rest) => fc.constantFrom(`1${rest}`, `1.0${rest}`, `1.0.0${rest}`))
  .map((name) => parseVersion(name))
  .filter((parsed): parsed is Version => parsed !== undefined)

test('the order of any versions is total: antisymmetric and transitive', () => {
  fc.assert(
    fc.property(version, version, version, (a, b, c) => {
      const signs = [compareVersions(a, b), compareVersions(b, c), compareVersions(a, c)].map(Math.sign)
      expect(Math.sign(compareVersions(b, a)) + (signs[0] ?? 0)).toBe(0)
      expect(compareVersions(a, a)).toBe(0)
      const [ab = 0, bc = 0, ac = 0] = signs
      if (ab <= 0 && bc <= 0) expect(ac).toBeLessThanOrEqual(0)
      if (ab === 0) expect(ac).toBe(bc)
    }),
    { numRuns: 200_000 },
  )
})
