import { test } from 'vitest'
import { raceCreateWithPrune, raceStartWithPrune } from '../../../support/prune-races.ts'

// The same races by the thousands are in test/long/workspace/prune.test.ts.

test('P4 a workspace that is started while it is being pruned is either started or gone, never both', () =>
  raceStartWithPrune(100))

test('P5 the disk of a machine that is being made is never taken for one of nothing', () =>
  raceCreateWithPrune(15))
