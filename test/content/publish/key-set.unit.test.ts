import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { CONTENTS, withForms } from '../../../src/content/publication/content-key.ts'
import { KeySet } from '../../../src/content/publication/key-set.ts'
import { Random } from '../../../src/lib/random/random.ts'
import { rounds } from '../../support/rounds.ts'

const SUFFIXES = ['', '.br', '.gz', '.zst', '.br.gz', '/x', 'a']

/** Returns keys of contents and others, some of them twice, among which hashes share their first bytes. */
function keysOf(random: Random, count: number): readonly string[] {
  return Array.from({ length: count }, () => {
    const hash = createHash('sha256')
      .update(String(random.below(count)))
      .digest('hex')
    const shared = random.chance(0.3) ? '0badcafe' + hash.slice(8) : hash
    const cased = random.chance(0.05) ? shared.toUpperCase() : shared
    const folder = random.chance(0.1) ? 'other/' : CONTENTS
    return folder + (random.chance(0.05) ? cased.slice(1) : cased) + random.pick(SUFFIXES)
  })
}

test.each([0, 1, 511, 512, 513, rounds(2_000, 20_000)])(
  'a set of %d keys has the same keys as a Set',
  (count) => {
    const random = new Random(count)
    const keys = keysOf(random, count)
    const expected = new Set(keys)
    const set = new KeySet(keys)
    expect([...set].toSorted()).toEqual([...expected].toSorted())
    const wanted = keys.flatMap((key) => /^_objects\/([0-9a-f]{64})$/.exec(key)?.[1] ?? [])
    for (const isCompressed of [false, true])
      expect(
        wanted.filter(
          (hash) =>
            set.hasContent(hash, isCompressed) !==
            withForms(CONTENTS + hash, isCompressed).every((key) => expected.has(key)),
        ),
      ).toEqual([])
    const asked = [...keys, ...keysOf(random, count)]
    expect(asked.filter((key) => set.has(key) !== expected.has(key))).toEqual([])
  },
)
