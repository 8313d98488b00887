import { test } from 'vitest'
import {
  raceCreateWithPrune,
  raceImageWithPrune,
  raceSnapshotWithPrune,
  raceStartWithPrune,
} from '../../../support/workspace/prune-races.ts'

// The same races by the thousands are in test/long/workspace/prune.test.ts.

test('P4 a workspace that is started while it is being pruned is either started or gone, never both', () =>
  raceStartWithPrune(100))

test('P5 the disk of a machine that is being made is never taken for one of nothing', () =>
  raceCreateWithPrune(15))

test('P5 a snapshot that is being taken is never taken for half of one', () => raceSnapshotWithPrune(30))

test.each(['prune', 'resume'] as const)(
  'P4 an image that is wanted while it is being deleted stays, also where others clear away (%s)',
  raceImageWithPrune,
)
