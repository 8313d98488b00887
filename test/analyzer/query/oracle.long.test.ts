import { describe, expect, it } from 'vitest'
import { openFacts } from '../../../src/analyzer/bytecode/facts.ts'
import { readByOracle } from '../../oracle/read-classes.ts'
import type { ClassContainer } from '../../../src/analyzer/classpath/class-container.ts'
import { listClasses } from '../../../src/analyzer/classpath/list-classes.ts'
import { readClasses } from '../../../src/analyzer/classpath/read-classes.ts'
import { buildDigest } from '../../oracle/digest/build-digest.ts'
import { digestLayout } from '../../../src/analyzer/index/digest.ts'
import { corpusJar, javaBase, largeJars } from '../../support/analyzer/corpora.ts'
import { factsDifference } from '../../support/analyzer/facts-difference.ts'
import { rounds } from '../../support/rounds.ts'

/** The share of classes that are compared: one in this number. */
const STRIDE = rounds(4, 1)

async function expectSame(container: ClassContainer): Promise<number> {
  const some = container.classes.filter((_, i) => i % STRIDE === 0)
  let classes = 0
  for (let at = 0; at < some.length; at += 500) {
    const slice = some.slice(at, at + 500)
    const native = await readClasses(container, slice, digestLayout)
    const oracle = await readByOracle(container, slice)
    expect(native.problems.map(({ path }) => path)).toEqual([])
    expect(oracle.diagnostics).toEqual([])
    expect(factsDifference(native.facts, openFacts(oracle.buffer))).toEqual([])
    expect(Buffer.from(native.digest).equals(Buffer.from(buildDigest(native.facts)))).toBe(true)
    classes += native.facts.classes.count
  }
  return classes
}

describe(
  'the addon reads the same facts as java-class-tools, and creates the same digest as the oracle',
  { timeout: 300_000 },
  () => {
    it('about java.base', async () => {
      expect(await expectSame(javaBase())).toBeGreaterThan(6000 / STRIDE)
    })

    it.each(largeJars)('about %s', async (name) => {
      const [jar] = listClasses(corpusJar(name), 17).containers
      expect(await expectSame(jar!)).toBeGreaterThan(700 / STRIDE)
    })
  },
)
