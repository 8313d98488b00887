import type { Logger } from '../../lib/log/logger.ts'
import { isFault } from '../../lib/errors/fault.ts'
import { messageOf } from '../../lib/errors/message.ts'
import type { Backend, BackendCreate } from '../backend/backend.ts'
import type { Build } from '../devcontainer/build.ts'
import type { DevContainer } from '../devcontainer/dev-container.ts'
import {
  readContainerEnvironment,
  resolveVariables,
  splitVariables,
  withinLimits,
  withVariables,
} from '../devcontainer/resolve-references.ts'
import type { EgressProxies } from '../egress/egress-proxies.ts'
import { isImageBackend } from '../image/image-backend.ts'
import type { Phase } from '../timeline/phase.ts'
import type { Workspace } from '../workspace.ts'
import { buildImage } from './build-image.ts'
import type { CreateRequest } from './create-request.ts'

/** Opens the egress proxies of workspaces with a profile; does nothing for others. */
export type EgressGate = Pick<EgressProxies, 'attach' | 'environmentOf' | 'foreignEnvironmentOf' | 'observe'>

/** Parts of the server that a creation uses, and those to whom it reports. */
export interface CreationContext {
  readonly egress: EgressGate
  readonly progress: (message: string) => void
  /** Adds an entry to the workspace's timeline. */
  readonly note: (text: string) => void
  readonly enterPhase: (phase: Phase) => void
  readonly signal: AbortSignal
  readonly logger: Logger
  readonly imageAliases: ReadonlyMap<string, string>
}

/** Context of a creation whose warnings are collected. */
export interface WarningContext extends CreationContext {
  readonly warn: (message: string) => void
}

/** A created workspace, and the settings of its devcontainer.json without references. */
export interface Created {
  readonly workspace: Workspace
  readonly devContainer: DevContainer | undefined
}

/** The image of a workspace. */
interface ChosenImage {
  readonly name: string
  /** Whether the server built it. */
  readonly isBuilt: boolean
}

/** The image that a workspace is to have, and how it is built, if it is. */
interface WantedImage {
  readonly name: string
  readonly build: Build | undefined
}

/** Creates the running workspace of a request, without its files. */
export class WorkspaceCreator {
  readonly #backend: Backend
  readonly #request: CreateRequest
  readonly #createdAt: Date
  readonly #context: WarningContext

  constructor(backend: Backend, request: CreateRequest, createdAt: Date, context: WarningContext) {
    this.#backend = backend
    this.#request = request
    this.#createdAt = createdAt
    this.#context = context
  }

  /** Creates it with the settings of a devcontainer.json. */
  async create(
    devContainer: DevContainer | undefined,
    image: ChosenImage,
    adoptsFiles: boolean,
  ): Promise<Created> {
    if (devContainer === undefined)
      return { workspace: await this.#createOnce(devContainer, image, { adoptsFiles }), devContainer }
    const { name: backend } = this.#backend
    if (devContainer.user !== undefined && backend !== 'docker')
      this.#warn(`remoteUser is not supported by ${backend}; programs run as the image's user`)
    const { known, dependent } = splitVariables(devContainer)
    const before = withVariables(devContainer, this.#limited(known))
    const workspace = await this.#createOnce(before, image, { adoptsFiles })
    if (Object.keys(dependent).length === 0) return { workspace, devContainer: before }
    // The image's variables are known only inside, and a container's only set when it is created.
    const container = await readContainerEnvironment(this.#backend, this.#request.name)
    if (container === undefined) {
      const names = Object.keys(dependent).join(', ')
      this.#warn(`the container's environment cannot be read; remoteEnv is set without ${names}`)
      return { workspace, devContainer: before }
    }
    const resolved = { ...known, ...resolveVariables(dependent, container) }
    const after = withVariables(devContainer, this.#limited(resolved))
    await this.#remove()
    return { workspace: await this.#createOnce(after, image, { adoptsFiles }), devContainer: after }
  }

  /** Returns the image that a devcontainer.json wants, or else that of the request; what is not supported is a warning. */
  wantedImage(devContainer: DevContainer | undefined): WantedImage {
    const { image, isImageGiven } = this.#request
    const { name: backend, builds } = this.#backend
    // VMs cannot boot a container image.
    const isMachine = isImageBackend(backend)
    if (isMachine && devContainer?.image !== undefined)
      this.#warn('image is not supported for VMs, which boot from VM images')
    const { build } = devContainer ?? {}
    if (build !== undefined && builds === undefined)
      this.#warn(`build is not supported by ${backend}, which cannot build images`)
    return {
      name: (isImageGiven || isMachine ? undefined : devContainer?.image) ?? image,
      build: isImageGiven || builds === undefined ? undefined : build,
    }
  }

  /** Builds an image if necessary, while no container of the workspace exists. A failed build is a warning. */
  async makeImage({ name, build }: WantedImage): Promise<ChosenImage> {
    const { builds } = this.#backend
    const chosen = { name, isBuilt: false }
    if (build === undefined || builds === undefined) return chosen
    const open = async (base: string, emptyDirs: readonly string[]): Promise<void> => {
      // The image would keep an environment.
      const changes = { user: '0', emptyDirs, environment: {} }
      await this.#createOnce(undefined, { name: base, isBuilt: true }, changes)
    }
    try {
      const environment = this.#context.egress.environmentOf(this.#request.networkLimits?.egressProfile)
      const { name: workspace, ownership, localDir } = this.#request
      const scope = `${ownership?.owner?.id ?? ''}:${localDir}`
      const parts = { backend: this.#backend, builds, name: workspace, localDir, environment, scope, open }
      return { name: await buildImage(build, { ...this.#context, ...parts }), isBuilt: true }
    } catch (error) {
      if (this.#context.signal.aborted || (isFault(error) && error.code === 'BACKEND_UNAVAILABLE'))
        throw error
      this.#warn(`build: ${messageOf(error)}; the workspace has image ${name} instead`)
      return chosen
    }
  }

  async #createOnce(
    devContainer: DevContainer | undefined,
    image: ChosenImage,
    changes: Partial<Pick<BackendCreate, 'adoptsFiles' | 'emptyDirs' | 'environment' | 'user'>>,
  ): Promise<Workspace> {
    const { egress, enterPhase, progress, signal } = this.#context
    const created = await this.#backend.create(
      {
        ...this.#request,
        image: image.name,
        isBuilt: image.isBuilt,
        adoptsFiles: false,
        createdAt: this.#createdAt,
        repo: this.#request.repo?.url ?? '',
        environment: {
          ...egress.environmentOf(this.#request.networkLimits?.egressProfile),
          ...devContainer?.environment,
          ...devContainer?.remoteEnvironment,
          ...this.#request.environment,
        },
        foreignEnvironment: egress.foreignEnvironmentOf(this.#request.networkLimits?.egressProfile),
        forwardPorts: devContainer?.forwardPorts ?? [],
        user: devContainer?.user,
        enterPhase,
        warn: (message) => this.#warn(message),
        ...changes,
      },
      progress,
      signal,
    )
    // Cloning and preparations need it.
    await egress.attach(created)
    return created
  }

  async #remove(): Promise<void> {
    this.#context.signal.throwIfAborted()
    await this.#backend.remove(this.#request.name, true)
  }

  /** Leaves out variables that are too long, with a warning. */
  #limited(variables: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    const { kept, tooLong } = withinLimits(variables)
    if (tooLong.length > 0) this.#warn(`remoteEnv is too long; it is set without ${tooLong.join(', ')}`)
    return kept
  }

  #warn(message: string): void {
    this.#context.warn(`devcontainer.json: ${message}`)
  }
}
