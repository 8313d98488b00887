import { describe, expect, it } from 'vitest'
import { oracleReader } from '../../oracle/class-reader/oracle-reader.ts'
import { nativeReader } from '../../support/analyzer/class-readers.ts'
import { damagedClasses, demoClassFiles } from '../../support/analyzer/damaged-classes.ts'
import { rounds } from '../../support/rounds.ts'

describe.each([nativeReader, oracleReader])('A3 the $is reader', (reader) => {
  it('reads each damaged class or reports one diagnostic for it', { tags: ['long'] }, async () => {
    const inputs = damagedClasses(rounds(500, 2000))
    let faulty = 0
    for (const input of inputs) {
      const { facts, diagnostics } = await reader.readSlice([input])
      // A class whose annotations cannot be read has facts and a diagnostic.
      expect([0, 1]).toContain(diagnostics.length)
      expect(facts.classes.count === 1 || diagnostics.length === 1).toBe(true)
      expect(diagnostics[0]?.offset ?? 0).toBeLessThanOrEqual(input.length)
      faulty += diagnostics.length
    }
    expect(faulty).toBeGreaterThan(inputs.length / 10)
    expect(faulty).toBeLessThan(inputs.length * 0.95)
  })

  it('reports one diagnostic for a class truncated anywhere, and reads the others', async () => {
    const [first = new Uint8Array(), second = new Uint8Array()] = demoClassFiles()
    const cuts = Array.from({ length: Math.floor(first.length / 10) }, (_, i) => first.subarray(0, i * 10))
    const { facts, diagnostics } = await reader.readSlice([...cuts, second])
    expect(diagnostics.map(({ input }) => input)).toEqual(cuts.map((_, i) => i))
    expect(Array.from(facts.classes.input)).toEqual([cuts.length])
  })

  it('reads class files of an unreleased major version', async () => {
    const [first = new Uint8Array()] = demoClassFiles()
    const newer = Uint8Array.from(first)
    newer.set([0, 72], 6)
    const { facts } = await reader.readSlice([newer])
    expect(Array.from(facts.classes.majorVersion)).toEqual([72])
  })
})
