import { afterAll, beforeAll, describe } from 'vitest'
import { ATTEMPTS, EXCESSES } from '../support/confined/attempts.ts'
import { type Canaries, createCanaries } from '../support/confined/canaries.ts'
import { type Reader, READERS } from '../support/confined/readers.ts'
import { testAttacks } from './attack.ts'

/** Attempts in the core, by reader. */
const CORE: Readonly<Record<string, string>> = {
  'the scan': 'read a file',
  'the search for texts': 'connect to a port of the loopback address',
  'the decompiler': 'start a program',
}
const idOf = (text: string): string => text.replaceAll(' ', '-')

let canaries: Canaries
beforeAll(async () => {
  canaries = await createCanaries()
  return () => canaries.close()
})

// A jar that has taken over an analyzer process reading it, and makes its attempts in that process.
describe.each(Object.entries(READERS))('%s', (name, start) => {
  let wide: Reader
  let narrow: Reader
  beforeAll(() => {
    wide = start(canaries)
    narrow = start(canaries, true)
  })
  afterAll(() => Promise.all([wide.close(), narrow.close()]))

  testAttacks(
    `archives/takeover/${idOf(name)}`,
    Object.keys({ ...ATTEMPTS, ...EXCESSES }).map((tries) => ({ id: idOf(tries), tries })),
    async ({ tries }) => {
      const ending = await (tries in ATTEMPTS ? wide : narrow).make(tries)
      return 'reached' in ending
        ? { harm: [ending.reached.slice(0, 120)], seen: 'reached' }
        : { harm: [], seen: ending.refused.slice(0, 120) }
    },
    [CORE[name] ?? ''].map(idOf),
  )
})
