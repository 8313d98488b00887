import { randomBytes } from 'node:crypto'
import type { ImageInspectInfo } from 'dockerode'
import { ignore } from '../../../../lib/errors/ignore.ts'
import { fault } from '../../../errors.ts'
import { BUILD_REPOSITORY } from '../../../image-reference.ts'
import type {
  BuildFiles,
  BuildLines,
  BuildWork,
  EngineImage,
  Extract,
  ImageBuilds,
} from '../../image-builds.ts'
import type { ContainerForks } from '../container-forks.ts'
import type { DockerEngine } from '../engine/engine.ts'
import { BUILD_SERVER, clearedLabels, COPY_SERVER, engineName, isCopyOfWorkspace } from '../engine/labels.ts'
import { buildArchive, importArchive } from './build-archive.ts'
import { EngineFiles } from './engine-files.ts'
import { followBuild } from './follow-build.ts'
import { findImage, isReference, pullImage, splitVariable } from './image.ts'
import { sendArchive } from './send-archive.ts'
import type { PulledImages } from './pulled-images.ts'

const VALUE_LABEL = 'workspace.build_value'
/** On an image that was committed, what identifies it beside the image below it. */
const STEP_LABEL = 'workspace.build_step'
const NO_CACHE_LABEL = 'workspace.build_nonce'
/** Options of COPY whose names the engine looks up. */
const NAMED_OWNER = /^(?:COPY|ADD) --chown=\S*[A-Za-z$]/
const SHELL = ['/bin/sh', '-c']

/** Builds images with the engine's builder, and by committing containers of workspaces. */
export class ContainerBuilds implements ImageBuilds {
  readonly #engine: DockerEngine
  readonly #serverId: string
  readonly #files: EngineFiles
  readonly #pulled: PulledImages | undefined

  /** @param pulled records the images that may be deleted once no workspace uses them */
  constructor(
    engine: DockerEngine,
    serverId: string,
    forks: ContainerForks,
    pulled: PulledImages | undefined,
  ) {
    this.#engine = engine
    this.#serverId = serverId
    this.#files = new EngineFiles(engine, forks)
    this.#pulled = pulled
  }

  async architecture(signal: AbortSignal): Promise<string> {
    const { docker } = this.#engine
    return (await this.#engine.call('asking for the version', () => docker.version(), { signal })).Arch
  }

  async pull(image: string, { progress, signal }: BuildWork): Promise<EngineImage> {
    let found = await this.#findNamed(image)
    if (found === undefined) {
      await pullImage(this.#engine, image, { progress, signal, pulled: this.#pulled })
      found = await this.#findNamed(image)
    }
    if (found === undefined) throw fault('BACKEND_ERROR', `image ${image} disappeared after it was pulled`)
    const { Config } = found
    const isOfWorkspace = [COPY_SERVER, BUILD_SERVER].some((label) => (Config.Labels?.[label] ?? '') !== '')
    if (isOfWorkspace || isCopyOfWorkspace(image))
      throw fault('INVALID_REQUEST', `image ${image} has the files of a workspace and cannot be built on`)
    const triggers: unknown = Config.OnBuild
    if (Array.isArray(triggers) && triggers.length > 0)
      throw fault('INVALID_REQUEST', `image ${image} has instructions by ONBUILD, which are not supported`)
    return imageOf(found)
  }

  async findCommitted(key: string, base: EngineImage): Promise<EngineImage | undefined> {
    const filters = { label: [`${BUILD_SERVER}=${this.#serverId}`, `${STEP_LABEL}=${key}`] }
    const rows = await this.#engine.call('listing images', (abortSignal) =>
      this.#engine.docker.listImages({ all: true, filters, abortSignal }),
    )
    // Images that were made on top of it have its labels as well.
    const found = rows.find(({ ParentId }) => ParentId === base.id)
    return found && imageOf(await this.#inspect(found.Id))
  }

  async make(lines: BuildLines, files: BuildFiles | undefined, work: BuildWork): Promise<EngineImage> {
    if (lines.lines.some(({ text }) => NAMED_OWNER.test(text)))
      await this.#files.checkNames(lines.base, work.signal)
    if (files === undefined) return this.#build(lines, buildArchive(textOf(lines), undefined), {}, work)
    return this.#files.withContext(files, lines.base, work.signal, (archive) =>
      this.#build(lines, buildArchive(textOf(lines), { ...files, archive }), {}, work),
    )
  }

  async extract(image: string, source: string, title: string, { signal }: BuildWork): Promise<Extract> {
    return this.#files.withPath(image, source, title, signal, async ({ word, ...files }) => {
      let id = ''
      await sendArchive(this.#engine, 'copying files of an image', importArchive(title, files), {
        send: (content, abortSignal) => this.#engine.docker.importImage(content, { abortSignal }),
        onEvent: ({ status = '' }) => {
          if (status.startsWith('sha256:')) id = status
        },
        signal,
      })
      return { id, word }
    })
  }

  async discard({ id }: Extract): Promise<void> {
    await this.#engine
      .call('removing copied files', (abortSignal) =>
        this.#engine.docker.getImage(id).remove({ abortSignal }),
      )
      .catch(ignore('nothing uses it any more, and pruning the images of the engine removes it'))
  }

  async evaluate(lines: BuildLines, words: readonly string[], work: BuildWork): Promise<readonly string[]> {
    const labels = words.map((word, at) => `${VALUE_LABEL}.${at}=${word}`)
    const all = { ...lines, lines: [...lines.lines, { text: `LABEL ${labels.join(' ')}`, line: undefined }] }
    // Nothing else uses its layers, so that it can be deleted.
    const unique = { [NO_CACHE_LABEL]: randomBytes(16).toString('hex') }
    const { id } = await this.#build(all, buildArchive(textOf(all), undefined), unique, work)
    const { Labels } = (await this.#inspect(id)).Config
    await this.#removeDownTo(id, lines.base).catch(
      ignore('they have no files, and pruning the images of the engine removes them'),
    )
    return words.map((_, at) => Labels[`${VALUE_LABEL}.${at}`] ?? '')
  }

  /** Removes an image and those below it, down to another one, which the engine would remove as well. */
  async #removeDownTo(top: string, base: string): Promise<void> {
    for (let id = top; id !== '' && id !== base;) {
      const { Parent: parent } = await this.#inspect(id)
      const image = this.#engine.docker.getImage(id)
      await this.#engine.call('removing the values', (abortSignal) =>
        image.remove({ noprune: true, abortSignal }),
      )
      id = parent
    }
  }

  async commit(
    name: string,
    { environment, user, directory, shell }: EngineImage,
    key: string,
    signal: AbortSignal,
  ): Promise<EngineImage> {
    const labels = { ...clearedLabels(), [BUILD_SERVER]: this.#serverId, [STEP_LABEL]: key }
    const { Id } = (await this.#engine.call(
      'committing the image',
      (abortSignal) =>
        this.#engine.docker.getContainer(engineName(name)).commit({
          _query: { container: engineName(name), pause: false },
          _body: {
            Env: Object.entries(environment).map(([variable, value]) => `${variable}=${value}`),
            User: user,
            WorkingDir: directory,
            Shell: shell,
            Labels: labels,
          },
          abortSignal,
        }),
      { deadlineMs: 0, signal },
    )) as { readonly Id: string }
    return imageOf(await this.#inspect(Id))
  }

  async findKept(key: string): Promise<string | undefined> {
    const name = nameOf(key)
    return this.#isOwn(await findImage(this.#engine, name)) ? name : undefined
  }

  async keep({ id }: EngineImage, key: string): Promise<string> {
    await this.#engine.call('naming the image', (abortSignal) =>
      this.#engine.docker.getImage(id).tag({ repo: BUILD_REPOSITORY, tag: key, abortSignal }),
    )
    return nameOf(key)
  }

  async release({ id }: EngineImage): Promise<void> {
    if (!this.#isOwn(await findImage(this.#engine, id))) return
    await this.#pulled?.add(id, undefined).catch(ignore('an image without a record is never deleted'))
  }

  #isOwn(image: ImageInspectInfo | undefined): boolean {
    return image?.Config.Labels?.[BUILD_SERVER] === this.#serverId
  }

  /** Returns an image that has this name. The engine would also take it for the beginning of an identifier. */
  async #findNamed(image: string): Promise<ImageInspectInfo | undefined> {
    if (!isReference(image)) return undefined
    const found = await findImage(this.#engine, image)
    const isNamed = found !== undefined && [...found.RepoTags, ...found.RepoDigests].length > 0
    return isNamed && !/^(?:sha256:)?[0-9a-f]{6,64}$/.test(image) ? found : undefined
  }

  async #inspect(id: string): Promise<ImageInspectInfo> {
    const found = await findImage(this.#engine, id)
    if (found === undefined) throw fault('BACKEND_ERROR', `image ${id} disappeared during the build`)
    return found
  }

  async #build(
    { before, lines, arguments: given }: BuildLines,
    archive: AsyncGenerator<Buffer>,
    labels: Readonly<Record<string, string>>,
    { progress, signal }: BuildWork,
  ): Promise<EngineImage> {
    const isCached = Object.keys(labels).length === 0
    const id = await followBuild(this.#engine, archive, {
      lines: [...before, { text: '', line: undefined }, ...lines],
      arguments: Object.fromEntries(given),
      labels: { ...clearedLabels(), [BUILD_SERVER]: this.#serverId, ...labels },
      isCached,
      progress,
      signal,
    })
    return imageOf(await this.#inspect(id))
  }
}

function nameOf(key: string): string {
  return `${BUILD_REPOSITORY}:${key}`
}

function textOf({ base, before, lines, escape }: BuildLines): string {
  const texts = [...before, { text: `FROM ${base}` }, ...lines].map(({ text }) => text)
  return [`# escape=${escape}`, ...texts, ''].join('\n')
}

function imageOf({ Id, Config }: ImageInspectInfo): EngineImage {
  const { Shell: shell } = Config as { readonly Shell?: readonly string[] | null }
  return {
    id: Id,
    environment: Object.fromEntries((Config.Env ?? []).map(splitVariable)),
    user: Config.User,
    directory: Config.WorkingDir,
    shell: shell ?? SHELL,
  }
}
