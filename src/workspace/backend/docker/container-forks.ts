import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { KeyedLock } from '../../../lib/process/keyed-lock.ts'
import { fault } from '../../errors.ts'
import type { ForkCopy, ForkOrigin, Forks } from '../fork.ts'
import type { ContainerLimits } from './container.ts'
import { CHANGE_DEADLINE_MS, type DockerEngine, engineStatus, REMOVAL_DEADLINE_MS } from './engine/engine.ts'
import { clearedLabels, engineName, FORK_REPOSITORY, forkImage, type Labels } from './engine/labels.ts'
import { copyVolume } from './copy-volume.ts'

/** Marks images, volumes and helpers of forks with the server that created them. */
const SERVER_LABEL = 'workspace.fork_server'
/** On helpers and copies of volumes, the copy to which they belong. */
const COPY_LABEL = 'workspace.fork_copy'
/** On the copy of a volume, the container that may be paused for it. */
const SOURCE_LABEL = 'workspace.fork_source'
const HELPER_LABEL = 'workspace.helper'
const UNPAUSE_ATTEMPTS = 4
const UNPAUSE_RETRY_MS = 1_000

/**
 * Forks of containers: an image of the container's own files, and a copy of its volume. The image is used by the forks and
 * removed with the last of them; the copy of the volume is removed as soon as all have theirs.
 */
export class ContainerForks implements Forks {
  readonly #engine: DockerEngine
  readonly #serverId: string
  readonly #limits: ContainerLimits | undefined
  /** Copies from which forks are being created. */
  readonly #active = new Set<string>()
  readonly #pausing = new KeyedLock()

  constructor(engine: DockerEngine, serverId: string, limits: ContainerLimits | undefined) {
    this.#engine = engine
    this.#serverId = serverId
    this.#limits = limits
  }

  async take(name: string, { memory }: ForkCopy, signal: AbortSignal): Promise<ForkOrigin> {
    if (memory === true)
      throw fault(
        'FORK_UNSUPPORTED',
        `workspace "${name}" cannot be forked with its memory: its engine cannot copy the memory of containers`,
      )
    const id = randomBytes(8).toString('hex')
    const container = this.#engine.docker.getContainer(engineName(name))
    this.#active.add(id)
    try {
      // First, because it names the container that a killed server leaves paused.
      await this.#engine.make('creating the copy', signal, (abortSignal) =>
        this.#engine.docker.createVolume({
          Name: volumeOf(id),
          Labels: { ...this.#labelsOf(id), [SOURCE_LABEL]: engineName(name) },
          abortSignal,
        }),
      )
      const { State } = await this.#engine.call('inspecting the container', (abortSignal) =>
        container.inspect({ abortSignal }),
      )
      const pausedMs = State.Running ? await this.#copyPaused(name, id, signal) : 0
      if (!State.Running) await this.#copySource(name, id, signal)
      return { id, hasMemory: false, pausedMs }
    } catch (error) {
      await this.release(id).catch(() => undefined)
      throw error
    }
  }

  /** Fills the new volume of a fork. @throws BACKEND_ERROR when the copy fails */
  async fill(name: string, id: string, signal: AbortSignal): Promise<void> {
    await this.#copy(volumeOf(id), engineName(name), id, signal)
  }

  async release(id: string): Promise<void> {
    this.#active.delete(id)
    const volume = this.#engine.docker.getVolume(volumeOf(id))
    await this.#removing('the copy', (abortSignal) => volume.remove({ abortSignal }))
    await this.removeImage(forkImage(id))
  }

  /** Removes the image of forks that no container uses any more; does nothing for other images. */
  async removeImage(name: string): Promise<void> {
    const [repository, id = ''] = name.split(':')
    if (repository !== FORK_REPOSITORY || this.#active.has(id)) return
    const image = this.#engine.docker.getImage(name)
    // The engine refuses while any container uses the image.
    await this.#removing('the image', async (abortSignal) => {
      const { Config } = await image.inspect()
      if (Config.Labels?.[SERVER_LABEL] === this.#serverId) await image.remove({ abortSignal })
    })
  }

  /**
   * Removes what a killed server or an engine that went away left, and lets a workspace run that was left paused. Copies in
   * use stay.
   */
  async clear(): Promise<void> {
    const { docker } = this.#engine
    const filters = { label: [`${SERVER_LABEL}=${this.#serverId}`] }
    const helpers = await this.#engine.call('listing helpers', (abortSignal) =>
      docker.listContainers({
        all: true,
        filters: { label: [...filters.label, `${HELPER_LABEL}=fork`] },
        abortSignal,
      }),
    )
    const isLeft = (labels: Labels): boolean => !this.#active.has(labels[COPY_LABEL] ?? '')
    for (const { Id } of helpers.filter(({ Labels }) => isLeft(Labels)))
      await this.#removing('a helper', (abortSignal) =>
        docker.getContainer(Id).remove({ force: true, abortSignal }),
      )
    const images = await this.#engine.call('listing images', (abortSignal) =>
      docker.listImages({ filters, abortSignal }),
    )
    for (const tag of images.flatMap(({ RepoTags }) => RepoTags ?? [])) await this.removeImage(tag)
    const { Volumes } = await this.#engine.call('listing volumes', (abortSignal) =>
      docker.listVolumes({ filters: { name: [`${FORK_REPOSITORY}_`] }, abortSignal }),
    )
    await Promise.all(
      Volumes.map(async ({ Name, Labels: given }) => {
        // The engine creates a volume without labels for a helper that a killed server requested last.
        const labels = (given as Labels | null) ?? {}
        const isOwn = (labels[SERVER_LABEL] ?? this.#serverId) === this.#serverId
        if (!isOwn || !Name.startsWith(`${FORK_REPOSITORY}_`) || !isLeft(labels)) return
        const source = labels[SOURCE_LABEL]
        if (source !== undefined) await this.#continueLeft(source)
        await this.#removing('the copy', (abortSignal) => docker.getVolume(Name).remove({ abortSignal }))
      }),
    )
  }

  /** Copies a running container while it is paused. Returns for how many milliseconds it was. */
  #copyPaused(name: string, id: string, signal: AbortSignal): Promise<number> {
    return this.#pausing.run(engineName(name), async () => {
      const sinceMs = performance.now()
      await this.#pause(name)
      try {
        await this.#copySource(name, id, signal)
      } finally {
        await this.#unpause(engineName(name))
      }
      return Math.round(performance.now() - sinceMs)
    })
  }

  async #copySource(name: string, id: string, signal: AbortSignal): Promise<void> {
    await this.#commit(name, id, signal)
    await this.#copy(engineName(name), volumeOf(id), id, signal)
  }

  async #pause(name: string): Promise<void> {
    const container = this.#engine.docker.getContainer(engineName(name))
    try {
      await this.#engine.call('pausing the container', (abortSignal) => container.pause({ abortSignal }), {
        deadlineMs: CHANGE_DEADLINE_MS,
      })
    } catch (error) {
      if (engineStatus(error) === undefined) throw error
      throw fault(
        'FORK_UNSUPPORTED',
        `workspace "${name}" cannot be paused for the copy; stop it before forking it`,
        error,
      )
    }
  }

  /**
   * Lets a container run that a killed server may have left paused. The engine may still be about to pause it, as that server
   * requested last, so one that is not paused is looked at again.
   */
  async #continueLeft(container: string): Promise<void> {
    for (let attempt = 0; attempt < UNPAUSE_ATTEMPTS; attempt += 1) {
      if (attempt > 0) await delay(UNPAUSE_RETRY_MS, undefined, { ref: false })
      // Not while this server copies it.
      const isDone = await this.#pausing.run(container, () =>
        this.#unpause(container).then(
          () => true,
          () => false,
        ),
      )
      if (isDone) return
    }
  }

  async #unpause(container: string): Promise<void> {
    await this.#engine.call(
      'continuing the container',
      (abortSignal) => this.#engine.docker.getContainer(container).unpause({ abortSignal }),
      { deadlineMs: CHANGE_DEADLINE_MS },
    )
  }

  async #commit(name: string, id: string, signal: AbortSignal): Promise<void> {
    const labels = { ...clearedLabels(), [SERVER_LABEL]: this.#serverId }
    const container = this.#engine.docker.getContainer(engineName(name))
    await this.#engine.call(
      'committing the container',
      (abortSignal) =>
        container.commit({
          repo: FORK_REPOSITORY,
          tag: id,
          pause: false,
          changes: `LABEL ${Object.entries(labels)
            .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
            .join(' ')}`,
          abortSignal,
        }),
      { deadlineMs: 0, signal },
    )
  }

  #copy(from: string, to: string, id: string, signal: AbortSignal): Promise<void> {
    const labels = { ...this.#labelsOf(id), [HELPER_LABEL]: 'fork' }
    return copyVolume(this.#engine, { from, to, image: forkImage(id), labels, limits: this.#limits }, signal)
  }

  #labelsOf(id: string): Labels {
    return { [SERVER_LABEL]: this.#serverId, [COPY_LABEL]: id }
  }

  /** Removes an object unless it does not exist, or is in use. */
  async #removing(what: string, work: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    try {
      await this.#engine.call(`removing ${what} of a fork`, work, { deadlineMs: REMOVAL_DEADLINE_MS })
    } catch (error) {
      if (engineStatus(error) !== 404 && engineStatus(error) !== 409) throw error
    }
  }
}

/** Returns the volume of a copy, whose name no workspace's volume has. */
function volumeOf(id: string): string {
  return `${FORK_REPOSITORY}_${id}`
}
