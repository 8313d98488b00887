import { ATTEMPTS, EXCESSES } from '../support/confined/attempts.ts'
import { createCanaries } from '../support/confined/canaries.ts'
import { READERS } from '../support/confined/readers.ts'
import type { Chapter } from './attack.ts'

/** Simulates a jar that has taken over each analyzer process reading it, and runs its attempts in that process. */
export async function playTakeover(...[report, isWanted]: Parameters<Chapter['play']>): Promise<void> {
  const canaries = await createCanaries()
  try {
    for (const [name, start] of Object.entries(READERS)) {
      const [wide, narrow] = [start(canaries), start(canaries, true)]
      try {
        for (const [attempts, reader] of [
          [ATTEMPTS, wide],
          [EXCESSES, narrow],
        ] as const)
          for (const tries of Object.keys(attempts)) {
            const id = `archives/takeover/${name} ${tries}`.replaceAll(' ', '-')
            if (!isWanted(id)) continue
            const ending = await reader.make(tries)
            const isReached = 'reached' in ending
            const seen = isReached ? ending.reached : ending.refused
            report({
              attack: { id, tries: `${name}, taken over: ${tries}` },
              isReached,
              seen: seen.slice(0, 120),
            })
          }
      } finally {
        await Promise.all([wide.close(), narrow.close()])
      }
    }
  } finally {
    canaries.close()
  }
}
