import { fc } from '../../support/fast-check.ts'
import { expect, test } from 'vitest'
import { Admission } from '../../../src/lib/clock/admission.ts'

/** Pieces of work that finish or are aborted in any order. */
const steps = fc.array(fc.record({ at: fc.nat(20), is: fc.constantFrom('end', 'fail', 'give up') }), {
  minLength: 1,
  maxLength: 60,
})

test('the limit holds, no work is lost, and all slots are free at the end', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), steps, async (most, story) => {
      const admission = new Admission(most)
      let running = 0
      const works = Array.from({ length: 20 }, () => {
        const controller = new AbortController()
        const held = Promise.withResolvers<void>()
        held.promise.catch(() => undefined)
        const ended = admission
          .run(
            controller.signal,
            () => undefined,
            async () => {
              expect(++running).toBeLessThanOrEqual(most)
              await held.promise.finally(() => running--)
            },
          )
          .catch(() => undefined)
        return { controller, held, ended }
      })
      for (const { at, is } of story) {
        if (is === 'give up') works[at]?.controller.abort(new Error('given up'))
        else if (is === 'end') works[at]?.held.resolve()
        else works[at]?.held.reject(new Error('failed'))
        await Promise.resolve()
      }
      for (const { held } of works) held.resolve()
      await Promise.all(works.map(({ ended }) => ended))
      let isFree = 0
      const never = new AbortController().signal
      const held = Promise.withResolvers<void>()
      const last = Array.from({ length: most }, () =>
        admission.run(
          never,
          () => isFree--,
          () => (isFree++, held.promise),
        ),
      )
      await Promise.resolve()
      expect(isFree).toBe(most)
      held.resolve()
      await Promise.all(last)
    }),
  )
})
