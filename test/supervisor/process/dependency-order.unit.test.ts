import { fc } from '../../support/fast-check.ts'
import { expect, test } from 'vitest'
import { dependenciesFirst, dependentsFirst } from '../../../src/supervisor/process/dependency-order.ts'
import { processSpec } from '../../support/supervisor/process-spec.ts'

type Listed = { readonly spec: ReturnType<typeof processSpec> }

/** Processes with replicas, of which each depends only on earlier ones, in any order. */
const processes = fc
  .array(
    fc.record({ needs: fc.array(fc.nat(9), { maxLength: 3 }), replicas: fc.integer({ min: 1, max: 2 }) }),
    { maxLength: 9 },
  )
  .chain((rows) => {
    const all = rows.flatMap(({ needs, replicas }, at) =>
      Array.from({ length: replicas }, (_, replica): Listed => {
        const dependsOn = Object.fromEntries(
          needs.filter((each) => each < at).map((each) => [`p${each}`, 'started' as const]),
        )
        return { spec: { ...processSpec(`p${at}-${replica}`), base: `p${at}`, dependsOn } }
      }),
    )
    return fc.shuffledSubarray(all, { minLength: all.length })
  })

/** Whether one process depends on the other. */
const needs = (one: Listed, other: Listed): boolean => Object.hasOwn(one.spec.dependsOn, other.spec.base)

test('each process is sorted after those it depends on', () => {
  fc.assert(
    fc.property(processes, (all) => {
      const sorted = dependenciesFirst(all)
      expect(new Set(sorted)).toEqual(new Set(all))
      expect(sorted).toHaveLength(all.length)
      for (const [at, one] of sorted.entries())
        expect(sorted.slice(at).some((other) => needs(one, other))).toBe(false)
    }),
  )
})

test('work for a process waits for the work for all that depend on it, and for nothing else', async () => {
  await fc.assert(
    fc.asyncProperty(processes, async (all) => {
      const pending = new Map<Listed, () => void>()
      const begun: Listed[] = []
      const ended = new Set<Listed>()
      const over = dependentsFirst(all, (process) => {
        begun.push(process)
        return new Promise((resolve) => {
          pending.set(process, () => {
            ended.add(process)
            resolve()
          })
        })
      })
      for (let step = 0; step <= all.length && pending.size > 0; step++) {
        // Everything that may have begun has.
        for (const process of all)
          expect(begun.includes(process)).toBe(
            all.filter((other) => needs(other, process)).every((other) => ended.has(other)),
          )
        const [[process, end] = []] = pending
        if (process !== undefined) pending.delete(process)
        end?.()
        for (let turn = 0; turn < 5; turn++) await Promise.resolve()
      }
      await over
      expect(ended.size).toBe(all.length)
    }),
  )
})

test('a cycle, which a reload can have for a moment, ends', async () => {
  const cycle: readonly Listed[] = [
    { spec: processSpec('a', { dependsOn: { b: 'started' } }) },
    { spec: processSpec('b', { dependsOn: { a: 'started' } }) },
  ]
  const names: string[] = []
  await dependentsFirst(cycle, async ({ spec }) => void names.push(spec.name))
  expect(names.toSorted()).toEqual(['a', 'b'])
})
