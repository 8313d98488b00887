import { expect, test } from 'vitest'
import { oracleReader } from '../../oracle/class-reader/oracle-reader.ts'
import { nativeReader } from '../../support/analyzer/class-readers.ts'
import { classFile } from '../../support/analyzer/class-file.ts'

/** Names as long as a constant may be for the first ones, which a reader that compares all with all would choke on. */
const interfacesOf = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, i) => `a/${'x'.repeat(200)}${i}`)

/** The least of some runs, in CPU time: other processes take none of that. */
async function cpuMsOf(work: () => Promise<unknown>): Promise<number> {
  let leastMs = Number.POSITIVE_INFINITY
  for (let run = 0; run < 5; run++) {
    const before = process.cpuUsage()
    await work()
    const { user, system } = process.cpuUsage(before)
    leastMs = Math.min(leastMs, (user + system) / 1_000)
  }
  return leastMs
}

test.each([nativeReader, oracleReader])(
  'A4 the $is reader takes time proportional to the number of constants, up to the maximum',
  async (reader) => {
    const [part, whole] = [4_000, 32_000].map((count) =>
      classFile('Large', { interfaces: interfacesOf(count) }),
    ) as [Buffer, Buffer]
    const { facts } = await reader.readSlice([whole])
    expect(facts.classes.count).toBe(1)
    const partMs = await cpuMsOf(() => reader.readSlice(Array(8).fill(part)))
    const wholeMs = await cpuMsOf(() => reader.readSlice([whole]))
    // As many constants in one class file as in eight; a quadratic reader takes eight times as long for it.
    expect(wholeMs / partMs).toBeLessThan(4)
  },
)
