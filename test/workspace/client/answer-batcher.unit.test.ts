import { expect, test } from 'vitest'
import { Fault } from '../../../src/lib/errors/fault.ts'
import { AnswerBatcher } from '../../../src/workspace/client/answer-batcher.ts'

/** A batcher whose requests fail with these errors, one after the other, before they succeed. */
function batcher(failures: Error[]) {
  const received: string[] = []
  const lost: string[] = []
  const answers = new AnswerBatcher(
    async (lines) => {
      const failure = failures.shift()
      if (failure !== undefined) throw failure
      received.push(lines.toString())
    },
    (sentence) => lost.push(sentence),
  )
  return { answers, received, lost }
}

test('answers are sent again until the server can be reached', async () => {
  const away = () => new Fault('SERVER_UNREACHABLE', 'unavailable', 'reset')
  const { answers, received, lost } = batcher([away(), away()])
  answers.add({ n: 1 })
  answers.add({ n: 2 })
  await expect.poll(() => received).toEqual(['{"n":1}\n{"n":2}\n'])
  expect(lost).toEqual([])
})

test('an answer that the server refuses is reported and not sent again', async () => {
  const { answers, received, lost } = batcher([
    new Fault('WORKSPACE_NOT_CONNECTED', 'missing', 'no such guest'),
  ])
  answers.add({ n: 1 })
  await expect.poll(() => lost).toEqual(['an answer was lost: no such guest'])
  expect(received).toEqual([])
})
