import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  byAge,
  type Checkpoint,
  type CheckpointOwner,
  type Checkpoints,
  type NewCheckpoint,
} from '../../../../src/workspace/backend/checkpoint.ts'
import { fault } from '../../../../src/workspace/errors.ts'
import { nameKey } from '../../../../src/workspace/name.ts'
import { copyTree } from './copy-tree.ts'

/** Checkpoints of a fake backend: copies of its directories. */
export class FakeCheckpoints implements Checkpoints {
  readonly #taken = new Map<
    string,
    { readonly of: string; readonly at: string; readonly checkpoint: Checkpoint }
  >()
  readonly #volumeOf: (name: string) => string | undefined
  readonly #step: (name: string, signal?: AbortSignal) => Promise<void>

  constructor(
    volumeOf: (name: string) => string | undefined,
    step: (name: string, signal?: AbortSignal) => Promise<void>,
  ) {
    this.#volumeOf = volumeOf
    this.#step = step
  }

  list({ name }: CheckpointOwner): Promise<readonly Checkpoint[]> {
    const own = [...this.#taken.values()].filter(({ of }) => of === nameKey(name))
    return Promise.resolve(own.map(({ checkpoint }) => checkpoint).toSorted(byAge))
  }

  async take({ name }: CheckpointOwner, given: NewCheckpoint, signal: AbortSignal): Promise<Checkpoint> {
    await this.#step('checkpoint', signal)
    const volume = this.#volumeOf(name)
    if (volume === undefined)
      throw fault('CHECKPOINT_UNSUPPORTED', `the files of "${name}" are in a mounted directory`)
    const at = await mkdtemp(join(tmpdir(), 'fake-checkpoint-'))
    await copyTree(volume, at)
    const checkpoint = { ...given, id: randomBytes(8).toString('hex'), sizeBytes: 4_096 }
    this.#taken.set(checkpoint.id, { of: nameKey(name), at, checkpoint })
    return checkpoint
  }

  async restore({ name }: CheckpointOwner, id: string, signal: AbortSignal): Promise<void> {
    await this.#step('restore', signal)
    const [taken, volume] = [this.#taken.get(id), this.#volumeOf(name)]
    if (taken === undefined || volume === undefined) throw fault('BACKEND_ERROR', `no checkpoint ${id}`)
    for (const entry of await readdir(volume)) await rm(join(volume, entry), { recursive: true, force: true })
    await copyTree(taken.at, volume)
  }

  originOf(_workspace: CheckpointOwner, id: string): Promise<string> {
    return Promise.resolve(id)
  }

  /** Returns the directory of a checkpoint. */
  pathOf(id: string): string | undefined {
    return this.#taken.get(id)?.at
  }

  async remove(_workspace: CheckpointOwner, id: string): Promise<void> {
    await rm(this.#taken.get(id)?.at ?? '', { recursive: true, force: true })
    this.#taken.delete(id)
  }

  /** Removes the checkpoints of a workspace, or all. */
  async clear(name?: string): Promise<void> {
    for (const [id, { of, checkpoint }] of this.#taken)
      if (name === undefined || of === nameKey(name))
        await this.remove({ name: of, createdAt: checkpoint.createdAt }, id)
  }
}
