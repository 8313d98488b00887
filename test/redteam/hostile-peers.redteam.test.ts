import { compareAnswers } from '../support/differential/answers.ts'
import { compareRequests } from '../support/differential/requests.ts'
import { enterFolder } from '../support/hostile/entered-folder.ts'
import { HOSTILE_FOLDERS } from '../support/hostile/hostile-folders.ts'
import { testAttacks } from './attack.ts'

/** Runs of the generators; `.ci/run` plays the first, a short one. */
const RUNS = [
  { seed: 1, answers: 100, requests: 1_000 },
  ...[2, 3, 4, 5].map((seed) => ({ seed, answers: 400, requests: 3_000 })),
]
/** Every nth folder; test/scenarios/untrusted-folder.long.test.ts enters all of them. */
const EVERY = 4

const upstreams = RUNS.map(({ seed, answers }) => ({
  id: `upstream-${seed}`,
  tries: `${answers} answers of an upstream that smuggles, cuts and switches, seed ${seed}`,
  seed,
  answers,
}))
const clients = RUNS.map(({ seed, requests }) => ({
  id: `client-${seed}`,
  tries: `${requests} requests that servers could see differently, seed ${seed}`,
  seed,
  requests,
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
  async ({ seed, answers }) => {
    const { differences } = await compareAnswers({ requests: answers, seed })
    return { harm: differences, seen: 'each client got its own answer or an error' }
  },
  ['upstream-1'],
)
testAttacks(
  'hostile-peers',
  clients,
  async ({ seed, requests }) => {
    const { differences, refused } = await compareRequests({ requests, seed })
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
