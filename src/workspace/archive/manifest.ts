import type { Static } from 'typebox'
import { parseJson } from '../../lib/schema/parse-json.ts'
import { Type } from '../../lib/schema/type.ts'
import { BACKEND_NAMES, type BackendName } from '../backend-name.ts'
import {
  type DevContainer,
  type DevContainerReading,
  parseDevContainer,
} from '../devcontainer/dev-container.ts'
import { fault } from '../errors.ts'
import { isBuiltImage } from '../image-reference.ts'
import { isImageBackend } from '../image/image-backend.ts'
import { labelsSchema } from '../labels.ts'
import type { CreateInput } from '../lifecycle/create-request.ts'
import { scheduleRecord, scheduleRecordSchema } from '../schedule.ts'
import { limitsToWire, networkLimitsSchema } from '../network/narrow.ts'
import { WORKSPACE_DIR, type Workspace } from '../workspace.ts'

/** Version of the format that this server writes, and the newest that it reads. */
const ARCHIVE_VERSION = 1

const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()])
const secondsSchema = orNull(Type.Integer({ minimum: 0 }))
const countSchema = Type.Integer({ minimum: 0, maximum: 16_777_216 })

const manifestSchema = Type.Object({
  version: Type.Literal(ARCHIVE_VERSION),
  name: Type.String(),
  backend: Type.Enum(BACKEND_NAMES),
  /** Empty for one that the server built. */
  image: Type.String(),
  repo: Type.String(),
  cpus: countSchema,
  memoryMb: countSchema,
  network: orNull(networkLimitsSchema),
  labels: orNull(labelsSchema),
  wakes: orNull(Type.Boolean()),
  stopAfterS: secondsSchema,
  suspendAfterS: secondsSchema,
  /** Absent for the server's, and in archives of earlier versions. */
  schedule: Type.Optional(scheduleRecordSchema),
  /** Absent for checkpoints on request only, and in archives of earlier versions. */
  checkpoints: Type.Optional(
    Type.Object({ everyS: secondsSchema, keep: orNull(countSchema), maxAgeS: secondsSchema }),
  ),
  environment: Type.Record(Type.String(), Type.String()),
  /** Absent for the image's, and in archives of earlier versions. */
  user: Type.Optional(Type.String()),
  forwardPorts: Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 })),
})
const versionSchema = Type.Object({ version: Type.Integer({ minimum: 1 }) })

/** Description of an exported workspace: everything a new one needs except its files. */
export type Manifest = Static<typeof manifestSchema>

/** Values of an import that replace those of the manifest. */
export interface ImportOptions {
  readonly name?: string | undefined
  readonly backend?: BackendName | undefined
  readonly image?: string | undefined
}

/**
 * Describes a workspace with the settings of its devcontainer.json. An expiry is left out: a restored workspace must
 * not delete itself.
 */
export function manifestOf(
  workspace: Workspace,
  { environment, user }: Partial<Pick<DevContainer, 'environment' | 'user'>>,
): Manifest {
  const { name, backend, image, repo, cpus, memoryMb, networkLimits, labels, wakes } = workspace
  const { idle, schedule, checkpoints } = workspace
  return {
    version: ARCHIVE_VERSION,
    name,
    backend,
    // Only this server has an image that it built.
    image: isBuiltImage(image) ? '' : image,
    repo,
    cpus,
    memoryMb,
    network: networkLimits === undefined ? null : limitsToWire(networkLimits),
    labels: labels === undefined ? null : { ...labels },
    wakes: wakes ?? null,
    stopAfterS: secondsOf(idle?.stopAfterMs),
    suspendAfterS: secondsOf(idle?.suspendAfterMs),
    ...(schedule !== undefined && { schedule: scheduleRecord(schedule) }),
    ...(checkpoints !== undefined && {
      checkpoints: {
        everyS: secondsOf(checkpoints.everyMs),
        keep: checkpoints.keep ?? null,
        maxAgeS: secondsOf(checkpoints.maxAgeMs),
      },
    }),
    environment: { ...environment },
    ...(user !== undefined && { user }),
    forwardPorts: [...workspace.forwardPorts],
  }
}

/** Decodes a manifest, which is untrusted. @throws INVALID_ARCHIVE when it is not one, or from a newer server */
export function parseManifest(text: string): Manifest {
  const version = parseJson(versionSchema, text)?.version
  if (version !== undefined && version > ARCHIVE_VERSION)
    throw fault(
      'INVALID_ARCHIVE',
      `the archive has format version ${version}, and this server reads version ${ARCHIVE_VERSION}; update the server`,
    )
  const manifest = parseJson(manifestSchema, text)
  if (manifest === undefined) throw fault('INVALID_ARCHIVE', 'the manifest of the archive is not valid')
  return manifest
}

/**
 * Returns the request that creates a workspace as described. The image is that of the manifest unless the new
 * workspace has another kind of backend: VMs cannot boot a container image.
 */
export function createInputOf(
  manifest: Manifest,
  options: ImportOptions,
  fallback: BackendName,
): CreateInput {
  const backend = options.backend ?? fallback
  const isSameKind = isImageBackend(backend) === isImageBackend(manifest.backend)
  const { repo, cpus, memoryMb, network, labels, wakes, stopAfterS, suspendAfterS } = manifest
  const { schedule, checkpoints } = manifest
  return {
    name: options.name ?? manifest.name,
    backend,
    repo,
    image: options.image ?? (isSameKind ? manifest.image : undefined),
    cpus,
    memoryMb,
    network,
    labels,
    wake: wakes,
    idle: { stopAfter: stopAfterS, suspendAfter: suspendAfterS },
    schedule,
    checkpoints: checkpoints && {
      every: checkpoints.everyS,
      keep: checkpoints.keep,
      maxAge: checkpoints.maxAgeS,
    },
    noProvision: true,
  }
}

/** Returns the settings of a devcontainer.json that containers get at their creation. */
export function devContainerOf({ environment, forwardPorts, user }: Manifest): DevContainerReading {
  const text = JSON.stringify({ containerEnv: environment, forwardPorts, remoteUser: user })
  const reading = parseDevContainer(text, WORKSPACE_DIR)
  const config = reading.is === 'found' ? reading.config : undefined
  const isValid = Object.keys(environment).every((name) => Object.hasOwn(config?.environment ?? {}, name))
  if (config === undefined || !isValid || config.invalid.length > 0) {
    const why = reading.is === 'bad' ? reading.why : (config?.invalid[0] ?? 'a variable has a bad name')
    throw fault('INVALID_ARCHIVE', `the manifest of the archive is not valid: ${why}`)
  }
  // The values are those of a workspace, in which no reference is left to resolve.
  return { is: 'found', config: { ...config, environment, notes: [] } }
}

function secondsOf(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.ceil(ms / 1_000)
}
