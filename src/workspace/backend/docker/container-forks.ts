import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { ignore } from '../../../lib/errors/ignore.ts'
import { KeyedLock } from '../../../lib/process/keyed-lock.ts'
import { fault } from '../../errors.ts'
import type { ForkCopy, ForkOrigin, Forks } from '../fork.ts'
import type { ContainerLimits } from './container.ts'
import { CHANGE_DEADLINE_MS, type DockerEngine, engineStatus, REMOVAL_DEADLINE_MS } from './engine/engine.ts'
import {
  CHECKPOINT_REPOSITORY,
  checkpointImage,
  clearedLabels,
  COPY_SERVER,
  copyVolumeName,
  engineName,
  FORK_REPOSITORY,
  forkImage,
  type Labels,
} from './engine/labels.ts'
import { setFrozen } from './engine/freezer.ts'
import { copyVolume } from './copy-volume.ts'

/** On helpers and copies of volumes, the copy to which they belong. */
const COPY_LABEL = 'workspace.fork_copy'
/** On the copy of a volume, the container that may be paused for it. */
const SOURCE_LABEL = 'workspace.fork_source'
const HELPER_LABEL = 'workspace.helper'
const PAUSE_ATTEMPTS = 5
const PAUSE_RETRY_MS = 250
const UNPAUSE_ATTEMPTS = 4
const UNPAUSE_RETRY_MS = 1_000
/** An engine that has not continued a container for this long may never do so by itself. */
const STUCK_MS = 1_000

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

  /** @param labels further labels of the copy */
  async take(
    name: string,
    { memory }: ForkCopy,
    signal: AbortSignal,
    labels: Labels = {},
  ): Promise<ForkOrigin> {
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
          Name: copyVolumeName(id),
          Labels: { ...labels, ...this.#labelsOf(id), [SOURCE_LABEL]: engineName(name) },
          abortSignal,
        }),
      )
      const { State } = await this.#engine.call('inspecting the container', (abortSignal) =>
        container.inspect({ abortSignal }),
      )
      const copy = () => this.#copySource(name, id, labels, signal)
      const pausedMs = State.Running ? await this.#whilePaused(name, copy) : 0
      if (!State.Running) await copy()
      return { id, hasMemory: false, pausedMs }
    } catch (error) {
      await this.release(id).catch(ignore('the next start removes what stays'))
      throw error
    }
  }

  /** Fills the new volume of a fork. @throws BACKEND_ERROR when the copy fails */
  async fill(name: string, id: string, signal: AbortSignal): Promise<void> {
    await this.#copy(copyVolumeName(id), engineName(name), id, signal)
  }

  /** Replaces the files of a workspace's volume with those of a copy; repeating it completes one that was interrupted. */
  async refill(name: string, id: string, signal: AbortSignal): Promise<void> {
    await this.withHelper((labels) => {
      const volumes = { from: copyVolumeName(id), to: engineName(name), isEmptied: true }
      return copyVolume(
        this.#engine,
        { ...volumes, image: forkImage(id), labels, limits: this.#limits },
        signal,
      )
    })
  }

  /** Runs work that uses a helper with these labels; one that a killed server leaves is removed by the next. */
  async withHelper<T>(work: (labels: Labels) => Promise<T>): Promise<T> {
    const id = `helper-${randomBytes(8).toString('hex')}`
    this.#active.add(id)
    try {
      return await work({ ...this.#labelsOf(id), [HELPER_LABEL]: 'fork' })
    } finally {
      this.#active.delete(id)
    }
  }

  async release(id: string): Promise<void> {
    this.#active.delete(id)
    const volume = this.#engine.docker.getVolume(copyVolumeName(id))
    await this.#removing('the copy', (abortSignal) => volume.remove({ abortSignal }))
    await this.removeImage(forkImage(id))
  }

  /** Keeps a copy as a checkpoint. A server that is killed before leaves one that the next removes. */
  async keep(id: string): Promise<void> {
    await this.#engine.call('naming the copy', (abortSignal) =>
      this.#engine.docker.getImage(forkImage(id)).tag({ repo: CHECKPOINT_REPOSITORY, tag: id, abortSignal }),
    )
    this.#active.delete(id)
  }

  /** Removes the image of forks that no container uses any more; does nothing for other images. */
  async removeImage(name: string): Promise<void> {
    const [repository, id = ''] = name.split(':')
    if (repository !== FORK_REPOSITORY || this.#active.has(id)) return
    const image = this.#engine.docker.getImage(name)
    // The engine refuses while any container uses the image.
    await this.#removing('the image', async (abortSignal) => {
      const { Config, RepoTags } = await image.inspect()
      if (RepoTags.some((tag) => isTag(tag, checkpointImage(id)))) return
      if (Config.Labels?.[COPY_SERVER] === this.#serverId) await image.remove({ abortSignal })
    })
  }

  /**
   * Removes what a killed server or an engine that went away left, and lets a workspace run that was left paused. Copies in
   * use stay.
   */
  async clear(): Promise<void> {
    const { docker } = this.#engine
    const filters = { label: [`${COPY_SERVER}=${this.#serverId}`] }
    const helpers = await this.#engine.call('listing helpers', (abortSignal) =>
      docker.listContainers({
        all: true,
        filters: { label: [...filters.label, `${HELPER_LABEL}=fork`] },
        abortSignal,
      }),
    )
    const images = await this.#engine.call('listing images', (abortSignal) =>
      docker.listImages({ filters, abortSignal }),
    )
    const tags = images.flatMap(({ RepoTags }) => RepoTags ?? [])
    const isLeft = ({ [COPY_LABEL]: id = '' }: Labels): boolean =>
      !this.#active.has(id) && !tags.some((tag) => isTag(tag, checkpointImage(id)))
    for (const { Id } of helpers.filter(({ Labels }) => isLeft(Labels)))
      await this.#removing('a helper', (abortSignal) =>
        docker.getContainer(Id).remove({ force: true, v: true, abortSignal }),
      )
    for (const tag of tags) await this.removeImage(tag)
    const { Volumes } = await this.#engine.call('listing volumes', (abortSignal) =>
      docker.listVolumes({ filters: { name: [`${FORK_REPOSITORY}_`] }, abortSignal }),
    )
    await Promise.all(
      Volumes.map(async ({ Name, Labels: given }) => {
        // The engine creates a volume without labels for a helper that a killed server requested last.
        const labels = (given as Labels | null) ?? {}
        const isOwn = (labels[COPY_SERVER] ?? this.#serverId) === this.#serverId
        if (!isOwn || !Name.startsWith(`${FORK_REPOSITORY}_`) || !isLeft(labels)) return
        const source = labels[SOURCE_LABEL]
        if (source !== undefined) await this.#continueLeft(source)
        await this.#removing('the copy', (abortSignal) => docker.getVolume(Name).remove({ abortSignal }))
      }),
    )
  }

  /** Runs work while a running container is paused. Returns for how many milliseconds it was. */
  #whilePaused(name: string, work: () => Promise<void>): Promise<number> {
    return this.#pausing.run(engineName(name), async () => {
      const sinceMs = performance.now()
      await this.#pause(name)
      try {
        await work()
      } finally {
        await this.#unpause(engineName(name))
      }
      return Math.round(performance.now() - sinceMs)
    })
  }

  async #copySource(name: string, id: string, labels: Labels, signal: AbortSignal): Promise<void> {
    await this.#commit(name, id, labels, signal)
    await this.#copy(engineName(name), copyVolumeName(id), id, signal)
  }

  /** Pauses a container. The engine can still take it for paused for a moment after the last copy. */
  async #pause(name: string): Promise<void> {
    const container = this.#engine.docker.getContainer(engineName(name))
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#engine.call('pausing the container', (abortSignal) => container.pause({ abortSignal }), {
          deadlineMs: CHANGE_DEADLINE_MS,
        })
        return
      } catch (error) {
        if (engineStatus(error) === undefined) throw error
        if (engineStatus(error) !== 409 || attempt === PAUSE_ATTEMPTS)
          throw fault(
            'FORK_UNSUPPORTED',
            `workspace "${name}" cannot be paused for the copy; stop it first`,
            error,
          )
        await delay(PAUSE_RETRY_MS)
      }
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

  /**
   * Lets a paused container run. An engine can wait forever for a program that was about to start when the container was
   * paused, and is paused with it: then the container is thawed without the engine.
   */
  async #unpause(container: string): Promise<void> {
    const unpause = () =>
      this.#engine.call(
        'continuing the container',
        (abortSignal) => this.#engine.docker.getContainer(container).unpause({ abortSignal }),
        { deadlineMs: CHANGE_DEADLINE_MS },
      )
    let thawed: Promise<string | undefined> | undefined
    const timer = setTimeout(() => {
      thawed = this.#thaw(container).catch(ignore('then the result of the engine counts'))
    }, STUCK_MS)
    try {
      await unpause()
    } catch (error) {
      const id = await thawed
      if (id === undefined) throw error
      // The engine takes it for paused, although it no longer is.
      await setFrozen(id, true)
      await unpause()
    } finally {
      clearTimeout(timer)
      // Not during the next copy.
      await thawed
    }
  }

  /** Thaws a container without its engine, which lists it even if it waits for it. Returns its identifier if that was possible. */
  async #thaw(container: string): Promise<string | undefined> {
    const rows = await this.#engine.call('listing containers', (abortSignal) =>
      this.#engine.docker.listContainers({ all: true, filters: { name: [container] }, abortSignal }),
    )
    const id = rows.find(({ Names }) => Names.includes(`/${container}`))?.Id
    return id !== undefined && (await setFrozen(id, false)) ? id : undefined
  }

  async #commit(name: string, id: string, added: Labels, signal: AbortSignal): Promise<void> {
    const labels = { ...clearedLabels(), ...added, [COPY_SERVER]: this.#serverId }
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
    return { [COPY_SERVER]: this.#serverId, [COPY_LABEL]: id }
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

/** Returns whether an image's tag is this name. Podman puts `localhost/` in front. */
export function isTag(tag: string, name: string): boolean {
  return tag === name || tag === `localhost/${name}`
}
