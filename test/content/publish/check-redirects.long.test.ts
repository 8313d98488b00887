import { test } from 'vitest'
import { expectRulesToHold, redirectSites } from '../../support/content/redirect-sites.ts'
import { fc } from '../../support/fast-check.ts'
import { rounds } from '../../support/rounds.ts'

test.each([
  { rules: 4, segments: 2, runs: 40 },
  { rules: 8, segments: 3, runs: 10 },
])('of $rules rules, an accepted one answers a request, and none redirects a client twice', async (size) => {
  const property = fc.asyncProperty(redirectSites(size), (site) => expectRulesToHold(site, size))
  await fc.assert(property, { numRuns: rounds(size.runs, 10 * size.runs) })
})
