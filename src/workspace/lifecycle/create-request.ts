import type { Snapshot } from '../backend/snapshot.ts'
import type { DevContainerReading } from '../devcontainer/dev-container.ts'
import { readFromHost } from '../devcontainer/read-dev-container.ts'
import { fault } from '../errors.ts'
import { type NetworkLimits, parseNetworkLimits, type WireNetworkLimits } from '../network/narrow.ts'
import type { NetworkReach } from '../network/reach.ts'
import { BACKEND_NAMES } from '../backend-name.ts'
import type { BackendName } from '../backend-name.ts'
import { isImageBackend } from '../image/image-backend.ts'
import { withKnownImage } from './known-image.ts'
import { parseImage } from '../image-reference.ts'
import { parseLocalDir } from './local-dir.ts'
import { parseWorkspaceName } from '../name.ts'
import { parseRepo, type Repo } from './repo.ts'

const MIN_UPPER_BYTES = 2 ** 30
const MAX_UPPER_BYTES = 100 * 2 ** 30

/** What a caller asks for, unchecked; null and absent are the same. */
export interface CreateInput {
  readonly name: unknown
  readonly repo?: string | null | undefined
  readonly image?: string | null | undefined
  readonly backend?: string | null | undefined
  readonly localDir?: string | null | undefined
  readonly cpus?: number | null | undefined
  readonly memoryMb?: number | null | undefined
  /** Bytes. */
  readonly upperSize?: number | null | undefined
  readonly fromSnapshot?: string | null | undefined
  readonly noProvision?: boolean | null | undefined
  readonly dotfiles?: string | null | undefined
  readonly network?: WireNetworkLimits | null | undefined
}

/** What to make, checked and with defaults filled in. */
export interface CreateRequest {
  readonly name: string
  readonly repo: Repo | undefined
  readonly image: string
  /** Whether the caller named it: nothing then takes its place. */
  readonly isImageGiven: boolean
  readonly backend: BackendName
  /** '' when the workspace's files live on a volume. */
  readonly localDir: string
  readonly cpus: number
  readonly memoryMb: number
  /** 0 for the backend's default. */
  readonly upperBytes: number
  /** The snapshot that its disk is to be a copy of; '' for none. */
  readonly fromSnapshot: string
  /** Whether a devcontainer.json and dotfiles are honoured. */
  readonly isProvisioned: boolean
  /** What the mounted directory's devcontainer.json says; the one of a repository is read once it is cloned. */
  readonly devContainer: DevContainerReading
  /** The repository that sets up the user's home. */
  readonly dotfiles: Repo | undefined
  /** The most that it may reach, below this server's policy. */
  readonly networkLimits: NetworkLimits | undefined
}

export interface CreateDefaults {
  readonly backend: BackendName
  readonly image: string
  readonly imageAliases: ReadonlyMap<string, string>
  /** For a workspace that names none. */
  readonly dotfiles: Repo | undefined
  /** Host directories that no workspace may mount. */
  readonly forbiddenDirs: readonly string[]
  /** What a backend's workspaces reach. */
  readonly reachOf: (backend: BackendName) => NetworkReach
  /** @throws SNAPSHOT_NOT_FOUND, and what keeps one from being used */
  readonly getSnapshot: (name: unknown) => Promise<Snapshot>
}

/** Checks a creation before anything is touched. */
export async function parseCreateRequest(
  input: CreateInput,
  defaults: CreateDefaults,
): Promise<CreateRequest> {
  const name = parseWorkspaceName(input.name)
  if (isGiven(input.repo) && isGiven(input.localDir)) {
    throw fault('INVALID_REQUEST', 'repo and local_dir exclude each other: give one of them, or neither')
  }
  const snapshot = isGiven(input.fromSnapshot) ? await readSnapshot(input, defaults) : undefined
  const backend = snapshot?.backend ?? input.backend ?? defaults.backend
  if (!BACKEND_NAMES.some((known) => known === backend)) {
    throw fault(
      'INVALID_REQUEST',
      `backend "${backend.slice(0, 80)}" must be one of ${BACKEND_NAMES.join(', ')}`,
    )
  }
  const localDir = isGiven(input.localDir) ? await parseLocalDir(input.localDir, defaults.forbiddenDirs) : ''
  // What a snapshot was made of has been set up.
  const isProvisioned = input.noProvision !== true && snapshot === undefined
  const devContainer =
    isProvisioned && localDir !== ''
      ? withKnownImage(await readFromHost(localDir), defaults.imageAliases)
      : ({ is: 'none' } as const)
  const image = isGiven(input.image) ? parseImage(input.image, defaults.imageAliases) : undefined
  // A container's image is none that a virtual machine could boot.
  const isMachine = isImageBackend(backend as BackendName)
  const wanted = devContainer.is === 'found' && !isMachine ? devContainer.config.image : undefined
  const dotfiles = isGiven(input.dotfiles) ? parseRepo(input.dotfiles) : defaults.dotfiles
  return {
    name,
    repo: isGiven(input.repo) ? parseRepo(input.repo) : undefined,
    image: snapshot?.sourceImage ?? image ?? wanted ?? parseImage(defaults.image, defaults.imageAliases),
    isImageGiven: image !== undefined,
    backend: backend as BackendName,
    localDir,
    cpus: input.cpus ?? 0,
    memoryMb: input.memoryMb ?? 0,
    upperBytes: parseUpperSize(input.upperSize, backend as BackendName),
    fromSnapshot: snapshot?.name ?? '',
    isProvisioned,
    devContainer,
    dotfiles: isProvisioned ? dotfiles : undefined,
    networkLimits: parseNetworkLimits(input.network, defaults.reachOf(backend as BackendName)),
  }
}

async function readSnapshot(input: CreateInput, defaults: CreateDefaults): Promise<Snapshot> {
  const { repo, image, localDir, upperSize, backend, fromSnapshot } = input
  const others = { repo, image, local_dir: localDir, upper_size_bytes: upperSize }
  for (const [field, value] of Object.entries(others)) {
    if (value !== undefined && value !== null && value !== '')
      throw fault('INVALID_REQUEST', `from_snapshot and ${field} exclude each other: a snapshot has its own`)
  }
  const snapshot = await defaults.getSnapshot(fromSnapshot)
  if (!isGiven(backend) || backend === snapshot.backend) return snapshot
  throw fault(
    'INVALID_REQUEST',
    `snapshot "${snapshot.name}" is one of backend ${snapshot.backend}: leave backend out`,
  )
}

function parseUpperSize(bytes: number | null | undefined, backend: BackendName): number {
  if (bytes === null || bytes === undefined) return 0
  if (backend === 'docker')
    throw fault(
      'INVALID_REQUEST',
      'upper_size_bytes is for virtual machines: docker workspaces have no disk of their own',
    )
  if (Number.isInteger(bytes) && bytes >= MIN_UPPER_BYTES && bytes <= MAX_UPPER_BYTES) return bytes
  throw fault(
    'INVALID_REQUEST',
    `upper_size_bytes must be from ${MIN_UPPER_BYTES} to ${MAX_UPPER_BYTES} (1 to 100 GiB)`,
  )
}

/** Clients of this API family send '' for what they leave out. */
function isGiven(value: string | null | undefined): value is string {
  return value !== undefined && value !== null && value !== ''
}
