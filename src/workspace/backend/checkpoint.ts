import { fault } from '../errors.ts'
import type { Workspace } from '../workspace.ts'

/** Why a checkpoint was taken. */
export const CHECKPOINT_REASONS = ['manual', 'idle', 'schedule', 'rewind'] as const
/** Why a checkpoint was taken. `rewind`: to undo a rewind. */
export type CheckpointReason = (typeof CHECKPOINT_REASONS)[number]

/** A copy of a workspace's files, kept with the workspace, to which it can be rewound. */
export interface Checkpoint {
  /** 16 hexadecimal digits. */
  readonly id: string
  readonly createdAt: Date
  readonly reason: CheckpointReason
  /** Text of its creator; '' for none. */
  readonly label: string
  /** Disk usage, in which blocks shared with others count in full; undefined if unknown. */
  readonly sizeBytes: number | undefined
}

/** Properties of a new checkpoint. */
export type NewCheckpoint = Pick<Checkpoint, 'createdAt' | 'reason' | 'label'>

/** Identifies a workspace: a later one with its name has no checkpoints of it. */
export type CheckpointOwner = Pick<Workspace, 'name' | 'createdAt'>

/**
 * Checkpoint operations of a backend, without memory. Callers hold the workspace's lock. A server that starts removes incomplete
 * checkpoints of an earlier one, and completes its rewinds. Deleting a workspace deletes its checkpoints.
 */
export interface Checkpoints {
  /** Lists complete checkpoints, oldest first. */
  readonly list: (workspace: CheckpointOwner) => Promise<readonly Checkpoint[]>
  /**
   * Copies the files of a workspace in any state, which is paused meanwhile if it is running.
   *
   * @throws CHECKPOINT_UNSUPPORTED when it cannot be copied
   * @throws BACKEND_ERROR with nothing left behind; the workspace runs on in both cases
   */
  readonly take: (
    workspace: CheckpointOwner,
    checkpoint: NewCheckpoint,
    signal: AbortSignal,
  ) => Promise<Checkpoint>
  /**
   * Replaces the files of a stopped workspace with those of a checkpoint. A killed server leaves it with its files, or
   * with those of the checkpoint as soon as the next server is open.
   *
   * @throws BACKEND_ERROR when that fails
   */
  readonly restore: (workspace: CheckpointOwner, id: string, signal: AbortSignal) => Promise<void>
  /** Whether nothing was written since a checkpoint; absent for backends where that is costly to determine. */
  readonly isCurrent?: (workspace: CheckpointOwner, id: string) => Promise<boolean>
  /** Returns the origin of forks that are created from a checkpoint. */
  readonly originOf: (workspace: CheckpointOwner, id: string) => Promise<string>
  /** Removes a checkpoint if it exists; workspaces created from it stay. */
  readonly remove: (workspace: CheckpointOwner, id: string) => Promise<void>
}

const COPY_LIMIT_MS = 30 * 60_000

/**
 * Returns a signal that also aborts when a copy takes too long: the programs that copy a container's files are those of its
 * image, and may never exit.
 */
export function withCopyLimit(signal: AbortSignal): AbortSignal {
  const late = new AbortController()
  const abort = (): void => late.abort(fault('BACKEND_ERROR', 'the files were not copied within 30 minutes'))
  setTimeout(abort, COPY_LIMIT_MS).unref()
  return AbortSignal.any([signal, late.signal])
}

const ID = /^[0-9a-f]{16}$/

/** Returns whether a text can be the id of a checkpoint. */
export function isCheckpointId(text: string): boolean {
  return ID.test(text)
}

/** Orders checkpoints by age, oldest first. */
export function byAge(a: Checkpoint, b: Checkpoint): number {
  return a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1)
}
