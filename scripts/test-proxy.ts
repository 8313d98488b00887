// Compares what four servers receive from generated requests through both proxies, then the responses of a hostile
// server:
// npm run test:proxy -- [REQUESTS [SEED [FIRST]]]
// Prints "N requests, 0 differences" at the end. A difference shows the seed and the request that reproduce it: -- 1
// SEED FIRST.
import { compareAnswers } from '../test/support/differential/answers.ts'
import { compareRequests } from '../test/support/differential/requests.ts'

const [count, givenSeed, first] = process.argv.slice(2)
const requests = Number(count ?? 100_000)
const seed = Number(givenSeed ?? Math.floor(Math.random() * 2 ** 31))
const from = Number(first ?? 0)
if (![requests, seed, from].every((number) => Number.isSafeInteger(number) && number >= 0))
  throw new Error('REQUESTS, SEED and FIRST must be whole numbers: npm run test:proxy -- 10000000 42')

/** Requests of one run; recorders and proxies are restarted for each, and their counts are compared at its end. */
const SLICE = 250_000
/** Number of responses per run of requests. */
const ANSWERS = 5_000

let done = 0
let differences = 0
const print = (found: readonly string[]): void => {
  for (const difference of found) console.log(`${difference}\n`)
}
console.log(`seed ${seed}`)
while (done < requests) {
  const size = Math.min(SLICE, requests - done)
  const asked = await compareRequests({ requests: size, seed, from: from + done })
  print(asked.differences)
  const answered = await compareAnswers({ requests: Math.min(ANSWERS, size), seed: seed + done })
  print(answered.differences)
  done += size
  differences += asked.differenceCount + answered.differenceCount
  console.log(`${done} of ${requests}, ${differences} differences; ${JSON.stringify(asked.seen)}`)
}
console.log(`${done} requests, ${differences} differences`)
process.exit(differences === 0 ? 0 : 1)
