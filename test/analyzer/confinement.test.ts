import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ATTEMPTS, EXCESSES, WRITER_NEEDS, NEEDS } from '../support/confined/attempts.ts'
import { type Canaries, createCanaries } from '../support/confined/canaries.ts'
import { plainReader, type Reader, READERS } from '../support/confined/readers.ts'
import { sample } from '../support/rounds.ts'

let canaries: Canaries
beforeAll(async () => {
  canaries = await createCanaries()
})
afterAll(() => canaries.close())

describe.each(Object.keys(READERS))('A10 %s, taken over by hostile code,', (name) => {
  let reader: Reader
  let narrow: Reader
  beforeAll(() => {
    reader = READERS[name]!(canaries)
    narrow = READERS[name]!(canaries, true)
  })
  afterAll(() => Promise.all([reader.close(), narrow.close()]))

  const needs = { ...NEEDS, ...(name === 'the search for texts' ? {} : WRITER_NEEDS) }
  test.each(Object.keys(needs))('A10 can %s', async (need) => {
    expect(await reader.make(need)).toEqual({ reached: expect.any(String) })
  })

  test.each(Object.keys(ATTEMPTS))('A10 cannot %s', async (attempt) => {
    expect(await reader.make(attempt)).toEqual({ refused: expect.any(String) })
  })

  test.each(sample(Object.keys(EXCESSES), 3))('A10 cannot %s', async (attempt) => {
    expect(await narrow.make(attempt)).toEqual({ refused: expect.any(String) })
  })
})

test('A10 an unconfined process succeeds in every attempt', async () => {
  const own = await createCanaries()
  const reader = plainReader(own)
  const refused: string[] = []
  for (const attempt of Object.keys(ATTEMPTS))
    if ('refused' in (await reader.make(attempt))) refused.push(attempt)
  await reader.close()
  own.close()
  expect(refused).toEqual([])
})
