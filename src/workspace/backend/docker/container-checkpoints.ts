import type { ContainerInspectInfo, ImageInfo, MountSettings } from 'dockerode'
import { ignore } from '../../../lib/errors/ignore.ts'
import { isFault } from '../../../lib/errors/fault.ts'
import { KeyedLock } from '../../../lib/process/keyed-lock.ts'
import { fault } from '../../errors.ts'
import { WORKSPACE_DIR } from '../../workspace.ts'
import {
  byAge,
  type Checkpoint,
  CHECKPOINT_REASONS,
  type CheckpointOwner,
  type Checkpoints,
  isCheckpointId,
  type NewCheckpoint,
  withCopyLimit,
} from '../checkpoint.ts'
import { type ContainerForks, isTag } from './container-forks.ts'
import { NO_COPY } from './container.ts'
import { CHANGE_DEADLINE_MS, type DockerEngine, engineStatus, REMOVAL_DEADLINE_MS } from './engine/engine.ts'
import {
  CHECKPOINT_OF,
  checkpointImage,
  COPY_SERVER,
  engineName,
  forkImage,
  isOwn,
  type Labels,
  ownFilter,
  REWOUND_SUFFIX,
  rewoundName,
  workspaceNameOf,
} from './engine/labels.ts'

/** When the workspace of a checkpoint was created. */
const CREATED_LABEL = 'workspace.checkpoint_workspace_created_at'
const AT_LABEL = 'workspace.checkpoint_at'
const REASON_LABEL = 'workspace.checkpoint_reason'
/** In base64url, because the engine expands variables in labels of images. */
const TEXT_LABEL = 'workspace.checkpoint_label'

/**
 * Checkpoints of containers: copies as for forks, whose image has a second name that is given last. A rewind creates the next
 * container beside the current one, which decides it, then fills the volume from the copy, and replaces the container.
 */
export class ContainerCheckpoints implements Checkpoints {
  readonly #engine: DockerEngine
  readonly #serverId: string
  readonly #forks: ContainerForks
  readonly #locks = new KeyedLock()

  constructor(engine: DockerEngine, serverId: string, forks: ContainerForks) {
    this.#engine = engine
    this.#serverId = serverId
    this.#forks = forks
  }

  async list({ name, createdAt }: CheckpointOwner): Promise<readonly Checkpoint[]> {
    const images = await this.#imagesOf(name)
    return images
      .filter(({ Labels }) => Labels[CREATED_LABEL] === createdAt.toISOString())
      .flatMap((image) => readCheckpoint(image) ?? [])
      .toSorted(byAge)
  }

  async take(
    { name, createdAt }: CheckpointOwner,
    checkpoint: NewCheckpoint,
    signal: AbortSignal,
  ): Promise<Checkpoint> {
    await this.finish(name, signal)
    const report = await this.#find(engineName(name))
    if (report === undefined) throw noContainer(name)
    requireWhole(name, report)
    const labels = {
      [CHECKPOINT_OF]: name.toLowerCase(),
      [CREATED_LABEL]: createdAt.toISOString(),
      [AT_LABEL]: checkpoint.createdAt.toISOString(),
      [REASON_LABEL]: checkpoint.reason,
      [TEXT_LABEL]: Buffer.from(checkpoint.label).toString('base64url'),
    }
    const { id } = await this.#copy(name, labels, signal)
    try {
      await this.#forks.keep(id)
    } catch (error) {
      await this.#forks.release(id).catch(ignore('the next start removes what stays'))
      throw error
    }
    return { ...checkpoint, id, sizeBytes: undefined }
  }

  async restore({ name }: CheckpointOwner, id: string, signal: AbortSignal): Promise<void> {
    await this.#locks.run(engineName(name), async () => {
      await this.#finish(name, signal)
      const report = await this.#find(engineName(name))
      if (report === undefined) throw noContainer(name)
      requireWhole(name, report)
      await this.#engine.make('creating the container', signal, (abortSignal) =>
        this.#engine.docker.createContainer({ ...nextContainer(name, report, id), abortSignal }),
      )
      await this.#finish(name, signal)
    })
  }

  originOf(_workspace: CheckpointOwner, id: string): Promise<string> {
    return Promise.resolve(id)
  }

  async remove(_workspace: CheckpointOwner, id: string): Promise<void> {
    await this.#removeCopy(id)
  }

  /** Removes all checkpoints of a workspace that is being deleted, and a rewind that was interrupted. */
  async removeAll(name: string, keepVolume: boolean): Promise<void> {
    // Its volume is kept whole.
    if (keepVolume) await this.finish(name)
    await this.#locks.run(engineName(name), () => this.#removeContainer(rewoundName(name)))
    for (const image of await this.#imagesOf(name)) {
      const checkpoint = readCheckpoint(image)
      if (checkpoint !== undefined) await this.#removeCopy(checkpoint.id)
    }
  }

  /** Completes a rewind of a workspace that was interrupted, if any. */
  async finish(name: string, signal?: AbortSignal): Promise<void> {
    await this.#locks.run(engineName(name), () => this.#finish(name, signal))
  }

  /** Removes incomplete copies of an earlier server, and completes its rewinds. */
  async recover(): Promise<void> {
    await this.#forks.clear()
    await this.finishAll(false)
  }

  /** Completes all interrupted rewinds. @param isQuick leaves those whose files must still be copied */
  async finishAll(isQuick: boolean): Promise<void> {
    const rows = await this.#engine.call('listing containers', (abortSignal) =>
      this.#engine.docker.listContainers({
        all: true,
        filters: { label: ownFilter(this.#serverId), name: [REWOUND_SUFFIX] },
        abortSignal,
      }),
    )
    const finish = async ({ Labels }: (typeof rows)[number]): Promise<void> => {
      const name = workspaceNameOf(Labels)
      if (name === undefined || (isQuick && (await this.#find(engineName(name))) !== undefined)) return
      await this.finish(name)
    }
    // One that fails is completed before its next start.
    await Promise.allSettled(rows.map(finish))
  }

  async #removeCopy(id: string): Promise<void> {
    const image = this.#engine.docker.getImage(checkpointImage(id))
    await this.#ignoringMissing('removing the checkpoint', (abortSignal) => image.remove({ abortSignal }))
    await this.#forks.release(id)
  }

  /** Requires the lock. Each step may have been done before. */
  async #finish(name: string, signal = withCopyLimit(new AbortController().signal)): Promise<void> {
    const next = await this.#find(rewoundName(name))
    if (next === undefined) return
    const current = await this.#find(engineName(name))
    if (current !== undefined) {
      const [, id = ''] = next.Config.Image.split(':')
      if (current.State.Running) await this.#stop(current.Id)
      await this.#forks.refill(name, id, signal)
      await this.#removeContainer(current.Id)
      await this.#forks.removeImage(current.Config.Image)
    }
    await this.#engine.call('renaming the container', (abortSignal) =>
      this.#engine.docker.getContainer(next.Id).rename({ name: engineName(name), abortSignal }),
    )
  }

  async #copy(name: string, labels: Labels, signal: AbortSignal) {
    try {
      return await this.#forks.take(name, { children: 0, memory: false }, signal, labels)
    } catch (error) {
      if (isFault(error) && error.code === 'FORK_UNSUPPORTED')
        throw fault('CHECKPOINT_UNSUPPORTED', error.message, error)
      throw error
    }
  }

  /** Returns the images of all checkpoints of a name, complete ones only. */
  async #imagesOf(name: string): Promise<readonly ImageInfo[]> {
    const label = [`${COPY_SERVER}=${this.#serverId}`, `${CHECKPOINT_OF}=${name.toLowerCase()}`]
    return this.#engine.call('listing checkpoints', (abortSignal) =>
      this.#engine.docker.listImages({ filters: { label }, abortSignal }),
    )
  }

  async #stop(id: string): Promise<void> {
    await this.#engine.call(
      'stopping the container',
      (abortSignal) => this.#engine.docker.getContainer(id).stop({ t: 1, abortSignal }),
      { deadlineMs: CHANGE_DEADLINE_MS },
    )
  }

  async #removeContainer(id: string): Promise<void> {
    await this.#ignoringMissing('removing the container', (abortSignal) =>
      this.#engine.docker.getContainer(id).remove({ force: true, v: true, abortSignal }),
    )
  }

  /** Returns a container of this server. */
  async #find(name: string): Promise<ContainerInspectInfo | undefined> {
    const report = await this.#ignoringMissing('inspecting the container', (abortSignal) =>
      this.#engine.docker.getContainer(name).inspect({ abortSignal }),
    )
    return report !== undefined && isOwn(report.Config.Labels, this.#serverId) ? report : undefined
  }

  async #ignoringMissing<T>(what: string, work: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
    try {
      return await this.#engine.call(what, work, { deadlineMs: REMOVAL_DEADLINE_MS })
    } catch (error) {
      if (engineStatus(error) === 404) return undefined
      throw error
    }
  }
}

/** Describes a checkpoint by the labels of its image; undefined for other images, which inherit them. */
function readCheckpoint({ RepoTags, Labels: labels }: ImageInfo): Checkpoint | undefined {
  const ids = (RepoTags ?? []).map((tag) => tag.slice(tag.lastIndexOf(':') + 1)).filter(isCheckpointId)
  const id = ids.find((each) => (RepoTags ?? []).some((tag) => isTag(tag, checkpointImage(each))))
  const reason = CHECKPOINT_REASONS.find((each) => each === labels[REASON_LABEL])
  const createdAt = new Date(labels[AT_LABEL] ?? '')
  if (id === undefined || reason === undefined || Number.isNaN(createdAt.getTime())) return undefined
  const label = Buffer.from(labels[TEXT_LABEL] ?? '', 'base64url').toString()
  return { id, createdAt, reason, label, sizeBytes: undefined }
}

/** Requires that a copy of a container and its volume has all files of the workspace. */
function requireWhole(name: string, { Mounts }: ContainerInspectInfo): void {
  const unsupported = (why: string) =>
    fault('CHECKPOINT_UNSUPPORTED', `workspace "${name}" cannot have checkpoints: ${why}`)
  for (const { Type, Source, Destination } of Mounts as readonly MountPoint[]) {
    if (Type === 'bind' && Destination === WORKSPACE_DIR)
      throw unsupported(`its files are in ${Source}, which a checkpoint would not include`)
    if (Type === 'volume' && Destination !== WORKSPACE_DIR)
      throw unsupported(`its image has a volume ${Destination}, which a checkpoint would not include`)
  }
}

interface MountPoint {
  readonly Type?: string
  readonly Source: string
  readonly Destination: string
}

/** Returns the options of a workspace's next container: those of the current one, with the files of a checkpoint. */
function nextContainer(name: string, { Config, HostConfig }: ContainerInspectInfo, id: string) {
  const { Hostname, Labels: labels, Env, Entrypoint, Cmd, WorkingDir, User } = Config
  const mounts = (HostConfig.Mounts ?? []).map((mount): MountSettings =>
    mount.Target === WORKSPACE_DIR ? { ...mount, VolumeOptions: NO_COPY } : mount,
  )
  return {
    name: rewoundName(name),
    Image: forkImage(id),
    HostConfig: { ...HostConfig, Mounts: mounts },
    Hostname,
    Labels: labels,
    Env,
    Cmd,
    WorkingDir,
    User,
    ...(Entrypoint !== null && { Entrypoint }),
  }
}

function noContainer(name: string) {
  return fault('BACKEND_ERROR', `the container of workspace "${name}" no longer exists`)
}
