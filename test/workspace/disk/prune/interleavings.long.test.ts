import { test } from 'vitest'
import {
  expectCreationsDuringPrune,
  expectImagesDuringPrune,
  expectSnapshotsDuringPrune,
  expectStartsDuringPrune,
} from '../../../support/workspace/disk/prune-races.ts'

// test/workspace/disk/prune/prune.long.test.ts runs the same races by the thousands.

test('P4 a workspace started while it is being pruned is either started or deleted, never both', () =>
  expectStartsDuringPrune(25))

test('P5 the disk of a VM that is being created is never treated as an orphan', () =>
  expectCreationsDuringPrune(5))

test('P5 a snapshot that is being taken is never treated as partial', () => expectSnapshotsDuringPrune(10))

test.each(['prune', 'resume'] as const)(
  'P4 an image that is wanted while it is being deleted stays, also where others clear away (%s)',
  (clear) => expectImagesDuringPrune(clear),
)
