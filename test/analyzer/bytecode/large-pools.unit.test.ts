import { expect, test } from 'vitest'
import { oracleReader } from '../../oracle/class-reader/oracle-reader.ts'
import { nativeReader } from '../../support/analyzer/class-readers.ts'
import { classFile } from '../../support/analyzer/class-file.ts'

/** Names with a long common prefix, which are slow in a reader that compares each with all others. */
const interfacesOf = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, i) => `a/${'x'.repeat(200)}${i}`)

/** Returns the CPU time of this process during some work; other tests of the process add to it. */
async function cpuMsOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

for (const [reader, tags] of [
  [nativeReader, []],
  [oracleReader, ['long']],
] as const)
  test(
    `A4 the ${reader.is} reader takes time proportional to the number of constants, up to the maximum`,
    { tags: [...tags] },
    async () => {
      const [part, whole] = [4_000, 32_000].map((count) =>
        classFile('Large', { interfaces: interfacesOf(count) }),
      ) as [Buffer, Buffer]
      const { facts } = await reader.readSlice([whole])
      expect(facts.classes.count).toBe(1)
      // As many constants in one class file as in eight; a quadratic reader takes eight times as long for it in every run.
      let [partMs, wholeMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
      for (let run = 0; run < 5 || (wholeMs / partMs >= 4 && run < 40); run++) {
        partMs = Math.min(partMs, await cpuMsOf(() => reader.readSlice(Array(8).fill(part))))
        wholeMs = Math.min(wholeMs, await cpuMsOf(() => reader.readSlice([whole])))
      }
      expect(wholeMs / partMs).toBeLessThan(4)
    },
  )
