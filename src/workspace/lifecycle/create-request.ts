import { messageOf } from '../../lib/errors/message.ts'
import type { DevContainerReading } from '../devcontainer/dev-container.ts'
import { readFromHost } from '../devcontainer/read-dev-container.ts'
import { fault } from '../errors.ts'
import { BACKEND_NAMES, type BackendName } from '../workspace.ts'
import { parseLocalDir } from './local-dir.ts'
import { parseWorkspaceName } from './name.ts'
import { parseRepo, type Repo } from './repo.ts'

/** What a caller asks for, unchecked; null and absent are the same. */
export interface CreateInput {
  readonly name: unknown
  readonly repo?: string | null | undefined
  readonly image?: string | null | undefined
  readonly backend?: string | null | undefined
  readonly localDir?: string | null | undefined
  readonly cpus?: number | null | undefined
  readonly memoryMb?: number | null | undefined
  readonly noProvision?: boolean | null | undefined
}

/** What to make, checked and with defaults filled in. */
export interface CreateRequest {
  readonly name: string
  readonly repo: Repo | undefined
  readonly image: string
  readonly backend: BackendName
  /** '' when the workspace's files live on a volume. */
  readonly localDir: string
  readonly cpus: number
  readonly memoryMb: number
  /** Whether a devcontainer.json is honoured. */
  readonly isProvisioned: boolean
  /** What the mounted directory's devcontainer.json says; the one of a repository is read once it is cloned. */
  readonly devContainer: DevContainerReading
}

export interface CreateDefaults {
  readonly backend: BackendName
  readonly image: string
  readonly imageAliases: ReadonlyMap<string, string>
  /** Host directories that no workspace may mount. */
  readonly forbiddenDirs: readonly string[]
}

/** A Docker image reference: registry, path, tag or digest; never an option or a path (threat W5). */
const IMAGE = /^[a-z0-9][a-z0-9._:/-]*(?:@sha256:[0-9a-f]{64})?$/i

/** Checks a creation before anything is touched. */
export async function parseCreateRequest(
  input: CreateInput,
  defaults: CreateDefaults,
): Promise<CreateRequest> {
  const name = parseWorkspaceName(input.name)
  if (isGiven(input.repo) && isGiven(input.localDir)) {
    throw fault('INVALID_REQUEST', 'repo and local_dir exclude each other: give one of them, or neither')
  }
  const backend = input.backend ?? defaults.backend
  if (!BACKEND_NAMES.some((known) => known === backend)) {
    throw fault(
      'INVALID_REQUEST',
      `backend "${backend.slice(0, 80)}" must be one of ${BACKEND_NAMES.join(', ')}`,
    )
  }
  const localDir = isGiven(input.localDir) ? await parseLocalDir(input.localDir, defaults.forbiddenDirs) : ''
  const isProvisioned = input.noProvision !== true
  const devContainer =
    isProvisioned && localDir !== '' ? await readDevContainer(localDir, defaults) : ({ is: 'none' } as const)
  const wanted = devContainer.is === 'found' ? devContainer.config.image : undefined
  return {
    name,
    repo: isGiven(input.repo) ? parseRepo(input.repo) : undefined,
    image: parseImage(isGiven(input.image) ? input.image : (wanted ?? defaults.image), defaults.imageAliases),
    backend: backend as BackendName,
    localDir,
    cpus: input.cpus ?? 0,
    memoryMb: input.memoryMb ?? 0,
    isProvisioned,
    devContainer,
  }
}

/** A file whose image is none is of no use, and fails nothing. */
async function readDevContainer(directory: string, defaults: CreateDefaults): Promise<DevContainerReading> {
  const reading = await readFromHost(directory)
  if (reading.is !== 'found' || reading.config.image === undefined) return reading
  try {
    parseImage(reading.config.image, defaults.imageAliases)
    return reading
  } catch (error) {
    return { is: 'bad', why: messageOf(error) }
  }
}

function parseImage(text: string, aliases: ReadonlyMap<string, string>): string {
  const image = aliases.get(text) ?? text
  if (image.length <= 255 && IMAGE.test(image) && !image.includes('..')) return image
  throw fault('INVALID_REQUEST', `image ${JSON.stringify(image.slice(0, 80))} is not an image reference`)
}

/** Clients of this API family send '' for what they leave out. */
function isGiven(value: string | null | undefined): value is string {
  return value !== undefined && value !== null && value !== ''
}
