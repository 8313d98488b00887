import type { Static } from 'typebox'
import { Type } from '../../../../lib/schema/type.ts'
import { fits } from '../../../../lib/schema/parse-json.ts'
import { networkLimitsSchema } from '../../../network/narrow.ts'
import { type RecordReading, readRecord } from './known-files.ts'

const whole = Type.Integer({ minimum: 0 })
const processSchema = Type.Object({ pid: Type.Integer({ minimum: 2 }), began: Type.String({ minLength: 1 }) })

/** How a running machine's vsock is reached: see `guest-line.ts`. */
const LINE_KINDS = ['hybrid', 'ports', 'vsock', 'serial'] as const

const runSchema = Type.Object({
  hostBoot: Type.String({ minLength: 1 }),
  /** The monitor first, then its helpers. */
  processes: Type.Array(processSchema, { minItems: 1 }),
  line: Type.Enum(LINE_KINDS),
  /** Whether its agent has answered. */
  isReady: Type.Boolean(),
  ipAddress: Type.String(),
  /** By which its agent is told from programs inside that connect to the host as well (threat B3). */
  agentToken: Type.String({ minLength: 16 }),
  /** Where in the console's log this run begins. */
  consoleStart: whole,
})

/** What of a machine goes along with a copy of its disk. */
export const machineFacts = {
  image: Type.String(),
  digest: Type.String({ pattern: '^sha256:[0-9a-f]{64}$' }),
  repo: Type.String(),
  forwardPorts: Type.Array(Type.Integer()),
  environment: Type.Record(Type.String(), Type.String()),
  cpus: Type.Integer({ minimum: 1 }),
  memoryMb: Type.Integer({ minimum: 1 }),
  upperBytes: Type.Integer({ minimum: 1 }),
  /** Once it has been, an upper that looks blank is a damaged one. */
  isFormatted: Type.Boolean(),
} as const

const metadataSchema = Type.Object({
  version: Type.Literal(1),
  name: Type.String({ minLength: 1 }),
  /** Names its sockets' directory: a workspace's own name may be too long for a socket's path (threat W2). */
  id: Type.String({ pattern: '^[0-9a-f]{8}$' }),
  createdAt: Type.String({ minLength: 1 }),
  ...machineFacts,
  localDir: Type.String(),
  /** The most that it may reach; absent for all that the server's policy allows. */
  network: Type.Optional(Type.Union([networkLimitsSchema, Type.Null()])),
  /** The workspace was deleted, and its files are kept for the next one of that name. */
  isKept: Type.Boolean(),
  /** Why it does not run, where nobody stopped it; '' otherwise. */
  failure: Type.String(),
  run: Type.Union([runSchema, Type.Null()]),
})

/** What is remembered of a machine, in `instances/NAME/metadata.json`. */
export type Metadata = Static<typeof metadataSchema>
export type MachineRun = Static<typeof runSchema>

const isMetadata = (value: unknown): value is Metadata => fits(metadataSchema, value)

export type MetadataReading = RecordReading<Metadata>

/** @param key the directory's name */
export function readMetadata(path: string, key: string): Promise<MetadataReading> {
  return readRecord(path, key, isMetadata)
}
