import { compareAnswers } from '../support/differential/answers.ts'
import { compareRequests } from '../support/differential/requests.ts'
import { enterFolder } from '../support/hostile/entered-folder.ts'
import { HOSTILE_FOLDERS } from '../support/hostile/hostile-folders.ts'
import { testAttacks } from './attack.ts'

const ANSWERS = 400
const REQUESTS = 3_000
const SEEDS = [1, 2, 3, 4]
/** Every nth folder; test/scenarios/untrusted-folder.long.test.ts enters all of them. */
const EVERY = 4

const upstreams = SEEDS.map((seed) => ({
  id: `upstream-${seed}`,
  tries: `${ANSWERS} answers of an upstream that smuggles, cuts and switches, seed ${seed}`,
  seed,
}))
const clients = SEEDS.map((seed) => ({
  id: `client-${seed}`,
  tries: `${REQUESTS} requests that servers could see differently, seed ${seed}`,
  seed,
}))
const folders = HOSTILE_FOLDERS.map(([what, fill], i) => ({
  id: `folder-${i}`,
  tries: `a folder with ${what}`,
  fill,
}))

// Hostile clients and upstreams of the request proxy, and the author of a folder that a user enters.
testAttacks(
  'hostile-peers',
  upstreams,
  async ({ seed }) => {
    const { differences } = await compareAnswers({ requests: ANSWERS, seed })
    return { harm: differences, seen: 'each client got its own answer or an error' }
  },
  ['upstream-1'],
)
testAttacks(
  'hostile-peers',
  clients,
  async ({ seed }) => {
    const { differences, refused } = await compareRequests({ requests: REQUESTS, seed })
    return { harm: differences, seen: `${refused} refused, the others seen once and as they were sent` }
  },
  ['client-1'],
)
testAttacks(
  'hostile-peers',
  folders.filter((_folder, i) => i % EVERY === 0),
  async ({ fill }) => {
    const { ended, harm } = await enterFolder(fill)
    return { harm, seen: `${ended.length} commands ran` }
  },
  ['folder-0'],
)
