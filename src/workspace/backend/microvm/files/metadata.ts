import type { Static } from 'typebox'
import { Type } from '../../../../lib/schema/type.ts'
import { fits } from '../../../../lib/schema/parse-json.ts'
import { NAME_PATTERN } from '../../../name.ts'
import { networkLimitsSchema } from '../../../network/narrow.ts'
import { type RecordReading, readRecord } from './record-files.ts'

const whole = Type.Integer({ minimum: 0 })
const processSchema = Type.Object({ pid: Type.Integer({ minimum: 2 }), began: Type.String({ minLength: 1 }) })

/** How to reach a running VM's vsock: see `guest-line.ts`. */
const LINE_KINDS = ['hybrid', 'ports', 'vsock', 'serial'] as const

const runSchema = Type.Object({
  hostBoot: Type.String({ minLength: 1 }),
  /** The monitor first, then its helpers. */
  processes: Type.Array(processSchema, { minItems: 1 }),
  line: Type.Enum(LINE_KINDS),
  /** Whether its agent has responded. */
  isReady: Type.Boolean(),
  ipAddress: Type.String(),
  /** Distinguishes its agent from other programs inside that connect to the host (threat B3). */
  agentToken: Type.String({ minLength: 16 }),
  /** Offset in the console log at which this run starts. */
  consoleStart: whole,
})

/** Memory of a suspended VM, or of a copy from which forks are created. */
export const memorySchema = Type.Object({
  /** The monitor that wrote the file; only an equal one can load it. */
  monitor: Type.String({ minLength: 1 }),
  bytes: whole,
  /** Token that its agent still has. */
  agentToken: Type.String({ minLength: 16 }),
  /** Id of the VM whose memory it is a copy of; absent for its own. */
  copyOf: Type.Optional(Type.String({ pattern: '^[0-9a-f]{8}$' })),
})

/** Metadata that a copy of a VM's disk inherits. */
export const machineFacts = {
  image: Type.String(),
  digest: Type.String({ pattern: '^sha256:[0-9a-f]{64}$' }),
  repo: Type.String(),
  forwardPorts: Type.Array(Type.Integer()),
  environment: Type.Record(Type.String(), Type.String()),
  cpus: Type.Integer({ minimum: 1 }),
  memoryMb: Type.Integer({ minimum: 1 }),
  upperBytes: Type.Integer({ minimum: 1 }),
  /** An upper that looks blank although it was formatted is damaged. */
  isFormatted: Type.Boolean(),
} as const

const metadataSchema = Type.Object({
  version: Type.Literal(1),
  name: Type.String({ minLength: 1 }),
  /** Name of its socket directory: a workspace's own name may be too long for a socket's path (threat W2). */
  id: Type.String({ pattern: '^[0-9a-f]{8}$' }),
  createdAt: Type.String({ minLength: 1 }),
  ...machineFacts,
  localDir: Type.String(),
  /** Network limits of the workspace; absent or null for everything the server's policy allows. */
  network: Type.Optional(Type.Union([networkLimitsSchema, Type.Null()])),
  /** Labels given at its creation; absent or null for none. */
  labels: Type.Optional(Type.Union([Type.Record(Type.String(), Type.String()), Type.Null()])),
  /** Whether a connection to it starts it; absent or null for the server's default. */
  wakes: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
  /** Workspace that it was forked from; absent or null for none. */
  forkedFrom: Type.Optional(Type.Union([Type.String({ pattern: NAME_PATTERN }), Type.Null()])),
  /** Whether the workspace was deleted with its files kept for the next one of that name. */
  isKept: Type.Boolean(),
  /** Why it is not running although nobody stopped it; '' otherwise. */
  failure: Type.String(),
  run: Type.Union([runSchema, Type.Null()]),
  /** Name from which it is being renamed, whose files belong to it until that is complete; absent for none. */
  renamedFrom: Type.Optional(Type.String({ pattern: NAME_PATTERN })),
  /** Its suspended memory; absent or null for none. */
  memory: Type.Optional(Type.Union([memorySchema, Type.Null()])),
})

/** A VM's persistent state, in `instances/NAME/metadata.json`. */
export type Metadata = Static<typeof metadataSchema>
/** Memory of a VM in a file. */
export type SavedMemory = Static<typeof memorySchema>
/** State of a running VM. */
export type MachineRun = Static<typeof runSchema>

const isMetadata = (value: unknown): value is Metadata => fits(metadataSchema, value)

/** Result of reading a VM's metadata. */
export type MetadataReading = RecordReading<Metadata>

/** Reads a VM's metadata. @param key the directory's name */
export function readMetadata(path: string, key: string): Promise<MetadataReading> {
  return readRecord(path, key, isMetadata)
}
