import { expect, test } from 'vitest'
import { Gate } from '../../../src/workspace/torture/gate.ts'

test('a gate closes when the work that has passed is done, and lets more pass when it opens', async () => {
  const gate = new Gate()
  const steps: string[] = []
  const first = Promise.withResolvers<void>()
  const second = Promise.withResolvers<void>()
  const passing = gate.pass(() => first.promise.then(() => steps.push('passed')))
  const closed = gate.closed(() => {
    steps.push('closed')
    return second.promise
  })
  const waiting = gate.pass(() => Promise.resolve(steps.push('passed later')))
  first.resolve()
  await passing
  second.resolve()
  await Promise.all([closed, waiting])
  expect(steps).toEqual(['passed', 'closed', 'passed later'])
})
