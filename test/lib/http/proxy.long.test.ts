import { expect, test } from 'vitest'
import { compareAnswers } from '../../support/differential/answers.ts'
import { compareRequests } from '../../support/differential/requests.ts'
import { SEED } from '../../support/seed.ts'

const REQUESTS = 10_000

test('H6 V5 requests through both proxies are seen once and as sent by four servers, or by none', async () => {
  const { requests, seen, refused, differences } = await compareRequests({ requests: REQUESTS, seed: SEED })
  expect(differences).toEqual([])
  expect(requests).toBe(REQUESTS)
  // Every server took part, and so did requests that must be refused.
  expect(refused).toBeGreaterThan(REQUESTS / 20)
  for (const [server, count] of Object.entries(seen)) expect(count, server).toBeGreaterThan(REQUESTS / 50)
}, 900_000)

test('H6 F33 5,000 answers of a hostile upstream are well-formed, refused or cut, and confuse no other request', async () => {
  const { requests, differences } = await compareAnswers({ requests: 5_000, seed: SEED })
  expect(differences).toEqual([])
  expect(requests).toBe(5_000)
}, 300_000)
