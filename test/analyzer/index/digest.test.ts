import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { listClasses } from '../../../src/analyzer/classpath/list-classes.ts'
import { readClasses } from '../../../src/analyzer/classpath/read-classes.ts'
import { buildDigest } from '../../oracle/digest/build-digest.ts'
import { digestLayout, openDigest } from '../../../src/analyzer/index/digest.ts'
import { damagedClasses } from '../../support/analyzer/damaged-classes.ts'
import { compiled } from '../../support/analyzer/javac.ts'
import { sample } from '../../support/rounds.ts'
import { tempDir } from '../../support/temp-dir.ts'

/** Of all classes in a folder, by the addon and by the oracle. */
async function bothDigests(folder: string): Promise<readonly [ArrayBuffer, ArrayBuffer]> {
  const { containers } = listClasses(folder, 17)
  const { facts, digest } = await readClasses(containers[0]!, containers[0]!.classes, digestLayout)
  return [digest, buildDigest(facts)]
}

function damagedFolder(count: number): string {
  const folder = join(tempDir(), 'classes')
  mkdirSync(folder)
  for (const [i, bytes] of damagedClasses(count).entries()) writeFileSync(join(folder, `C${i}.class`), bytes)
  return folder
}

describe('the addon creates the same digest as the oracle, byte for byte', () => {
  it.each(['demo', ...sample(['kinds', 'shop'], 2)])('of the classes of %s', async (name) => {
    const [native, oracle] = await bothDigests(compiled(name, ['-g']))
    expect(Buffer.from(native).equals(Buffer.from(oracle))).toBe(true)
    expect(openDigest(native).callees.count).toBeGreaterThan(10)
  })

  it('of damaged class files', { tags: ['long'] }, async () => {
    const [native, oracle] = await bothDigests(damagedFolder(3000))
    expect(Buffer.from(native).equals(Buffer.from(oracle))).toBe(true)
    expect(openDigest(native).classes.count).toBeGreaterThan(300)
  })
})
