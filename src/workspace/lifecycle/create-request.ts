import { checkEnvironment } from '../arguments.ts'
import type { Backend } from '../backend/backend.ts'
import type { Snapshot } from '../backend/snapshot.ts'
import type { DevContainerReading } from '../devcontainer/dev-container.ts'
import { readFromHost } from '../devcontainer/read-dev-container.ts'
import { withDevContainerId } from '../devcontainer/resolve-references.ts'
import { fault } from '../errors.ts'
import type { NetworkLimits, WireNetworkLimits } from '../network/narrow.ts'
import type { NetworkReach } from '../network/narrow.ts'
import type { BackendName } from '../backend-name.ts'
import { isImageBackend } from '../image/image-backend.ts'
import { withResolvedImage } from './resolve-image.ts'
import { parseImage } from '../image-reference.ts'
import { parseLocalDir } from './local-dir.ts'
import { changedSettings, type SettingsInput, type WorkspaceSettings } from '../workspace-settings.ts'
import { parseWorkspaceName } from '../name.ts'
import type { ForkGroup } from './fork-group.ts'
import { parseRepo, type Repo } from './repo.ts'
import type { Creator } from '../team/creator.ts'
import { findTemplate, limitsWithin, type Template, type Templates } from './template.ts'

const MIN_UPPER_BYTES = 2 ** 30
const MAX_UPPER_BYTES = 100 * 2 ** 30

/** An unvalidated create request; null and absent are equivalent. */
export interface CreateInput extends SettingsInput {
  readonly name: unknown
  /** Name of the template that completes the request. */
  readonly template?: string | null | undefined
  readonly repo?: string | null | undefined
  readonly image?: string | null | undefined
  readonly backend?: BackendName | null | undefined
  readonly localDir?: string | null | undefined
  readonly cpus?: number | null | undefined
  readonly memoryMb?: number | null | undefined
  /** Bytes. */
  readonly upperSize?: number | null | undefined
  readonly fromSnapshot?: string | null | undefined
  readonly noProvision?: boolean | null | undefined
  readonly dotfiles?: string | null | undefined
  readonly network?: WireNetworkLimits | null | undefined
  /** Environment of every program in the workspace. */
  readonly environment?: Readonly<Record<string, string>> | undefined
  /** Who creates it; undefined for the server itself. */
  readonly creator?: Creator | undefined
}

/** Files of a workspace that is created from an archive, in place of a repository. */
export interface ImportedContent {
  readonly devContainer: DevContainerReading
  /** Fills the running workspace with the files. Until it resolves, the workspace is being created. */
  readonly unpack: (backend: Backend, name: string, signal: AbortSignal) => Promise<void>
}

/** A validated create request with defaults filled in. */
export interface CreateRequest extends WorkspaceSettings {
  readonly name: string
  readonly repo: Repo | undefined
  readonly image: string
  /** Whether the caller named the image, which then takes precedence. */
  readonly isImageGiven: boolean
  readonly backend: BackendName
  /** '' when the workspace's files are on a volume. */
  readonly localDir: string
  readonly cpus: number
  readonly memoryMb: number
  /** 0 for the backend's default. */
  readonly upperBytes: number
  /** The snapshot to copy the disk from; '' for none. */
  readonly fromSnapshot: string
  /** Whether a devcontainer.json and dotfiles are honored. */
  readonly isProvisioned: boolean
  /**
   * devcontainer.json of the template or the mounted directory; without either, that of a repository is read
   * after cloning.
   */
  readonly devContainer: DevContainerReading
  /** The repository that sets up the user's home directory. */
  readonly dotfiles: Repo | undefined
  /** Network limits that narrow the server's policy. */
  readonly networkLimits: NetworkLimits | undefined
  /** Environment of every program in the workspace, in addition to that of a devcontainer.json. */
  readonly environment: Readonly<Record<string, string>>
  /** Undefined unless it is created from an archive. */
  readonly content?: ImportedContent | undefined
  /** Undefined unless it is created as a fork. */
  readonly forkGroup?: ForkGroup | undefined
}

/** Settings that a create request is validated against and completed with. */
export interface CreateDefaults {
  readonly backend: BackendName
  readonly image: string
  readonly imageAliases: ReadonlyMap<string, string>
  readonly templates: Templates
  /** Dotfiles of workspaces created without any. */
  readonly dotfiles: Repo | undefined
  /** Host directories that workspaces must not mount. */
  readonly forbiddenDirs: readonly string[]
  /** Returns the network policy of a backend's workspaces. */
  readonly reachOf: (backend: BackendName) => NetworkReach
  /** Returns a usable snapshot. @throws SNAPSHOT_NOT_FOUND when there is none */
  readonly getSnapshot: (name: unknown) => Promise<Snapshot>
}

/** Validates a create request before anything is changed. @param now the start of the workspace's lifetime */
export async function parseCreateRequest(
  given: CreateInput,
  defaults: CreateDefaults,
  now = new Date(),
): Promise<CreateRequest> {
  const name = parseWorkspaceName(given.name)
  given.creator?.checkName(name)
  given.creator?.checkSource(given)
  const template = findTemplate(defaults.templates, given.template)
  const input = template === undefined ? given : withTemplate(given, template)
  if (isGiven(input.repo) && isGiven(input.localDir)) {
    throw fault('INVALID_REQUEST', 'repo and local_dir are mutually exclusive')
  }
  const snapshot = isGiven(input.fromSnapshot) ? await readSnapshot(input, defaults) : undefined
  const backend = snapshot?.backend ?? input.backend ?? defaults.backend
  const localDir = isGiven(input.localDir) ? await parseLocalDir(input.localDir, defaults.forbiddenDirs) : ''
  // A snapshot's source has already been set up.
  const isProvisioned = input.noProvision !== true && snapshot === undefined
  const devContainer = isProvisioned
    ? await readDevContainer(name, template, localDir, defaults)
    : ({ is: 'none' } as const)
  const image = isGiven(input.image) ? parseImage(input.image, defaults.imageAliases) : undefined
  // VMs cannot boot a container image.
  const isMachine = isImageBackend(backend)
  const wanted = devContainer.is === 'found' && !isMachine ? devContainer.config.image : undefined
  const dotfiles = isGiven(input.dotfiles) ? parseRepo(input.dotfiles) : defaults.dotfiles
  return {
    name,
    repo: isGiven(input.repo) ? parseRepo(input.repo) : undefined,
    image: snapshot?.sourceImage ?? image ?? wanted ?? parseImage(defaults.image, defaults.imageAliases),
    isImageGiven: image !== undefined,
    backend,
    localDir,
    cpus: input.cpus ?? 0,
    memoryMb: input.memoryMb ?? 0,
    upperBytes: parseUpperSize(input.upperSize, backend),
    fromSnapshot: snapshot?.name ?? '',
    isProvisioned,
    devContainer,
    dotfiles: isProvisioned ? dotfiles : undefined,
    networkLimits: limitsWithin(template, input.network, defaults.reachOf(backend)),
    environment: parseEnvironment(input.environment),
    ...changedSettings({ ownership: given.creator?.ownership }, input, now),
  }
}

function parseEnvironment(environment: CreateInput['environment'] = {}): Readonly<Record<string, string>> {
  checkEnvironment(environment)
  return environment
}

/** Completes a request: its values take precedence, and its source replaces the template's. */
function withTemplate(given: CreateInput, template: Template): CreateInput {
  const isFromSnapshot = isGiven(given.fromSnapshot)
  const hasSource = isFromSnapshot || isGiven(given.repo) || isGiven(given.localDir)
  const { repo, fromSnapshot } = hasSource ? given : template
  const backend = given.backend ?? (isFromSnapshot ? undefined : template.backend)
  return {
    ...given,
    repo,
    fromSnapshot,
    backend,
    image: isGiven(given.image) || isFromSnapshot ? given.image : template.image,
    cpus: given.cpus ?? template.cpus,
    memoryMb: given.memoryMb ?? template.memoryMb,
    // A container has no separate disk.
    upperSize: given.upperSize ?? (backend === 'docker' || isFromSnapshot ? undefined : template.upperBytes),
    noProvision: given.noProvision ?? template.noProvision,
    dotfiles: isGiven(given.dotfiles) ? given.dotfiles : template.dotfiles,
    ...settingsWithTemplate(given, template),
  }
}

function settingsWithTemplate(given: CreateInput, template: Template): SettingsInput {
  const { labels, wake, idle, checkpoints, ttlMs, expireAction, schedule } = template
  const hasExpiry = isGiven(given.expiresAt) || typeof given.ttlS === 'number'
  return {
    labels: { ...labels, ...given.labels },
    wake: given.wake ?? wake,
    idle: {
      stopAfter: given.idle?.stopAfter ?? secondsOf(idle?.stopAfterMs),
      suspendAfter: given.idle?.suspendAfter ?? secondsOf(idle?.suspendAfterMs),
    },
    checkpoints:
      given.checkpoints || checkpoints
        ? {
            every: given.checkpoints?.every ?? secondsOf(checkpoints?.everyMs),
            keep: given.checkpoints?.keep ?? checkpoints?.keep,
            maxAge: given.checkpoints?.maxAge ?? secondsOf(checkpoints?.maxAgeMs),
          }
        : undefined,
    ttlS: hasExpiry ? given.ttlS : secondsOf(ttlMs),
    expireAction: given.expireAction ?? expireAction,
    schedule: {
      start: given.schedule?.start ?? schedule?.start,
      stop: given.schedule?.stop ?? schedule?.stop,
      timeZone: given.schedule?.timeZone ?? schedule?.timeZone,
      rest: given.schedule?.rest ?? schedule?.rest,
    },
  }
}

function secondsOf(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.ceil(ms / 1_000)
}

/** Reads the settings known before the creation; those of a repository are read after cloning. */
async function readDevContainer(
  name: string,
  template: Template | undefined,
  localDir: string,
  { imageAliases }: CreateDefaults,
): Promise<DevContainerReading> {
  if (template?.devContainer !== undefined)
    return withDevContainerId({ is: 'found', config: template.devContainer }, { 'workspace.name': name })
  return localDir === '' ? { is: 'none' } : withResolvedImage(await readFromHost(localDir), imageAliases)
}

async function readSnapshot(input: CreateInput, defaults: CreateDefaults): Promise<Snapshot> {
  const { repo, image, localDir, upperSize, backend, fromSnapshot } = input
  const others = { repo, image, local_dir: localDir, upper_size_bytes: upperSize }
  for (const [field, value] of Object.entries(others)) {
    if (value !== undefined && value !== null && value !== '')
      throw fault(
        'INVALID_REQUEST',
        `from_snapshot and ${field} are mutually exclusive: a snapshot has its own`,
      )
  }
  const snapshot = await defaults.getSnapshot(fromSnapshot)
  if (!isGiven(backend) || backend === snapshot.backend) return snapshot
  throw fault(
    'INVALID_REQUEST',
    `snapshot "${snapshot.name}" belongs to backend ${snapshot.backend}; omit backend`,
  )
}

function parseUpperSize(bytes: number | null | undefined, backend: BackendName): number {
  if (bytes === null || bytes === undefined) return 0
  if (backend === 'docker')
    throw fault(
      'INVALID_REQUEST',
      'upper_size_bytes applies only to VMs: docker workspaces have no separate disk',
    )
  if (Number.isInteger(bytes) && bytes >= MIN_UPPER_BYTES && bytes <= MAX_UPPER_BYTES) return bytes
  throw fault(
    'INVALID_REQUEST',
    `upper_size_bytes must be between ${MIN_UPPER_BYTES} and ${MAX_UPPER_BYTES} (1 to 100 GiB)`,
  )
}

/** Clients of this API family send '' for omitted fields. */
function isGiven(value: string | null | undefined): value is string {
  return value !== undefined && value !== null && value !== ''
}
