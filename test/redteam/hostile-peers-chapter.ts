import { compareAnswers } from '../support/differential/answers.ts'
import { compareRequests } from '../support/differential/requests.ts'
import { enterFolder } from '../support/hostile/entered-folder.ts'
import { HOSTILE_FOLDERS } from '../support/hostile/hostile-folders.ts'
import type { Chapter } from './attack.ts'

const ANSWERS = 400
const REQUESTS = 3_000
const SEEDS = 4
/** Every nth folder; test/scenarios/untrusted-folder.long.test.ts enters all of them. */
const EVERY = 4

/** Hostile clients and upstreams of the request proxy, and the author of a folder that a user enters. */
export function hostilePeersChapter(): Chapter {
  return {
    name: 'hostile-peers',
    async play(report, isWanted) {
      for (let seed = 1; seed <= SEEDS; seed++) {
        const attack = {
          id: `hostile-peers/upstream-${seed}`,
          tries: `${ANSWERS} answers of an upstream that smuggles, cuts and switches, seed ${seed}`,
        }
        if (!isWanted(attack.id)) continue
        const { differenceCount, differences } = await compareAnswers({ requests: ANSWERS, seed })
        const seen = differences[0] ?? 'each client got its own answer or an error'
        report({ attack, isReached: differenceCount > 0, seen })
      }
      for (let seed = 1; seed <= SEEDS; seed++) {
        const attack = {
          id: `hostile-peers/client-${seed}`,
          tries: `${REQUESTS} requests that servers could see differently, seed ${seed}`,
        }
        if (!isWanted(attack.id)) continue
        const { differenceCount, differences, refused } = await compareRequests({ requests: REQUESTS, seed })
        const seen = differences[0] ?? `${refused} refused, the others seen once and as they were sent`
        report({ attack, isReached: differenceCount > 0, seen })
      }
      for (const [i, [what, fill]] of HOSTILE_FOLDERS.entries()) {
        const attack = { id: `hostile-peers/folder-${i}`, tries: `a folder with ${what}` }
        if (i % EVERY !== 0 || !isWanted(attack.id)) continue
        const { ended, harm } = await enterFolder(fill)
        report({
          attack,
          isReached: harm.length > 0,
          seen: [...harm, `${ended.length} commands ran`].join('; '),
        })
      }
    },
  }
}
