import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { posix } from 'node:path'
import type { Readable } from 'node:stream'
import type { Container, MountSettings } from 'dockerode'
import type { Static } from 'typebox'
import { ignore } from '../../../../lib/errors/ignore.ts'
import { parseJson } from '../../../../lib/schema/parse-json.ts'
import { Type } from '../../../../lib/schema/type.ts'
import { fault } from '../../../errors.ts'
import { BUILD_REPOSITORY } from '../../../image-reference.ts'
import type { BuildFiles } from '../../image-builds.ts'
import { NO_COPY } from '../container.ts'
import type { ContainerForks } from '../container-forks.ts'
import { type DockerEngine, engineStatus, REMOVAL_DEADLINE_MS } from '../engine/engine.ts'
import { engineName } from '../engine/labels.ts'

/** Directory in which a helper has the workspace's files. */
const FILES_DIR = '/run/workspace-files'
/** Bits of Go's FileMode. Source: https://pkg.go.dev/io/fs#FileMode */
const IS_DIRECTORY = 0x80_00_00_00
const IS_NOT_FILE = 0x8f_28_00_00

/** The used fields of the engine's facts about a path. Source: Docker Engine API, ContainerArchiveInfo. */
const pathFactsSchema = Type.Object({
  /** Go's FileMode. */
  mode: Type.Integer(),
  /** Path of a link's target, without links; '' for others. */
  linkTarget: Type.String(),
})
type PathFacts = Static<typeof pathFactsSchema>

/** Files of a path of an image. */
export interface ExtractedFiles {
  readonly archive: Readable
  /** Path in the archive of what is wanted, which may have patterns. */
  readonly word: string
  /** Name of the only file in the archive, if it is to have another name. */
  readonly renamed: string | undefined
}

/** Reads files of workspaces and images by containers that never run. */
export class EngineFiles {
  readonly #engine: DockerEngine
  readonly #forks: ContainerForks

  constructor(engine: DockerEngine, forks: ContainerForks) {
    this.#engine = engine
    this.#forks = forks
  }

  /** Runs work with an archive of the context. @param image any image */
  async withContext<T>(
    { name, localDir, context }: BuildFiles,
    image: string,
    signal: AbortSignal,
    work: (archive: Readable) => Promise<T>,
  ): Promise<T> {
    const place = { Target: FILES_DIR, ReadOnly: true }
    const mount: MountSettings =
      localDir === ''
        ? { Type: 'volume', Source: engineName(name), ...place, VolumeOptions: NO_COPY }
        : { Type: 'bind', Source: localDir, ...place }
    return this.#withHelper(image, [mount], signal, async (container) => {
      const path = `${posix.join(FILES_DIR, context)}/.`
      const archive = await this.#archiveOf(container, path, `the context ${context}`, signal)
      try {
        return await work(archive)
      } finally {
        archive.destroy()
      }
    })
  }

  /**
   * Runs work with an archive of a path of an image, or of the directory in which a pattern begins. A link has the content
   * of its target.
   *
   * @param title names it in errors
   */
  async withPath<T>(
    image: string,
    source: string,
    title: string,
    signal: AbortSignal,
    work: (files: ExtractedFiles) => Promise<T>,
  ): Promise<T> {
    return this.#withHelper(image, [], signal, async (container) => {
      const parts = posix.resolve('/', source).split('/').slice(1)
      const pattern = parts.findIndex((part) => /[*?[]/.test(part))
      const path = posix.join('/', ...(pattern === -1 ? parts : parts.slice(0, pattern)))
      const { target, isDirectory } = await this.#targetOf(container, path, title, signal)
      if (pattern !== -1 && !isDirectory) throw new Error(`${title} does not exist`)
      const [name, found] = [posix.basename(path), posix.basename(target)]
      const archive = await this.#archiveOf(container, isDirectory ? `${target}/.` : target, title, signal)
      const word = pattern === -1 ? '.' : parts.slice(pattern).join('/')
      try {
        return await work({
          archive,
          word: isDirectory ? word : name,
          renamed: isDirectory || name === found ? undefined : name,
        })
      } finally {
        archive.destroy()
      }
    })
  }

  /** The engine reads names of users and groups in files of an image, and would wait for a pipe. */
  async checkNames(image: string, signal: AbortSignal): Promise<void> {
    await this.#withHelper(image, [], signal, async (container) => {
      for (const path of ['/etc/passwd', '/etc/group']) {
        try {
          const { mode, linkTarget } = await this.#statIn(container, path, signal)
          const found = linkTarget === '' ? mode : (await this.#statIn(container, linkTarget, signal)).mode
          if ((found & IS_NOT_FILE) !== 0) throw new Error(`${path} of the image is not a file`)
        } catch (error) {
          // Without the file, the builder reports that it knows no name.
          if (engineStatus(error) !== 404) throw error
        }
      }
    })
  }

  async #withHelper<T>(
    image: string,
    mounts: MountSettings[],
    signal: AbortSignal,
    work: (container: Container) => Promise<T>,
  ): Promise<T> {
    const { docker } = this.#engine
    const name = `${BUILD_REPOSITORY}_${randomBytes(8).toString('hex')}`
    const container = docker.getContainer(name)
    const HostConfig = { NetworkMode: 'none', Mounts: mounts }
    return this.#forks.withHelper(async (labels) => {
      try {
        const options = { name, Image: image, Cmd: ['true'], Labels: { ...labels }, HostConfig }
        await this.#engine.make('creating a helper for the build', signal, (abortSignal) =>
          docker.createContainer({ ...options, abortSignal }),
        )
        return await work(container)
      } finally {
        const remove = (abortSignal: AbortSignal) => container.remove({ force: true, v: true, abortSignal })
        await this.#engine
          .call('removing the helper', remove, { deadlineMs: REMOVAL_DEADLINE_MS })
          .catch(ignore('one that stays is removed when the engine is connected the next time'))
      }
    })
  }

  async #targetOf(
    container: Container,
    path: string,
    title: string,
    signal: AbortSignal,
  ): Promise<{ readonly target: string; readonly isDirectory: boolean }> {
    try {
      const { mode, linkTarget } = await this.#statIn(container, path, signal)
      const target = linkTarget === '' ? path : linkTarget
      const found = linkTarget === '' ? mode : (await this.#statIn(container, target, signal)).mode
      return { target, isDirectory: (found & IS_DIRECTORY) !== 0 }
    } catch (error) {
      throw unreadable(error, title)
    }
  }

  async #archiveOf(
    container: Container,
    path: string,
    title: string,
    signal: AbortSignal,
  ): Promise<Readable> {
    try {
      const archive = await this.#engine.call(
        'reading the files of the build',
        (abortSignal) => container.getArchive({ path, abortSignal }),
        { deadlineMs: 0, signal },
      )
      return archive as Readable
    } catch (error) {
      throw unreadable(error, title)
    }
  }

  /** Returns facts about a path in a container, without following it if it is a link. */
  async #statIn(container: Container, path: string, signal: AbortSignal): Promise<PathFacts> {
    const answer = (await this.#engine.call(
      `looking at ${path}`,
      (abortSignal) => container.infoArchive({ path, abortSignal }),
      { signal },
    )) as IncomingMessage
    answer.resume()
    const encoded = String(answer.headers['x-docker-container-path-stat'])
    const facts = parseJson(pathFactsSchema, Buffer.from(encoded, 'base64').toString())
    if (facts === undefined) throw fault('BACKEND_ERROR', `the engine gives no facts about ${path}`)
    return facts
  }
}

/** Returns an error without the engine's answer, which has paths of the host. */
function unreadable(error: unknown, title: string): unknown {
  if (engineStatus(error) === undefined) return error
  return new Error(`${title} does not exist, or cannot be read`, { cause: error })
}
