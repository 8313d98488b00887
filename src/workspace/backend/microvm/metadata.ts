import { Ajv } from 'ajv'
import type { Static } from 'typebox'
import { Type } from '../../../lib/schema/type.ts'

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
  /** Where in the console's log this run begins. */
  consoleStart: whole,
})

const metadataSchema = Type.Object({
  version: Type.Literal(1),
  name: Type.String({ minLength: 1 }),
  /** Names its sockets' directory: a workspace's own name may be too long for a socket's path (threat W2). */
  id: Type.String({ pattern: '^[0-9a-f]{8}$' }),
  createdAt: Type.String({ minLength: 1 }),
  image: Type.String(),
  digest: Type.String({ pattern: '^sha256:[0-9a-f]{64}$' }),
  repo: Type.String(),
  localDir: Type.String(),
  forwardPorts: Type.Array(Type.Integer()),
  environment: Type.Record(Type.String(), Type.String()),
  cpus: Type.Integer({ minimum: 1 }),
  memoryMb: Type.Integer({ minimum: 1 }),
  upperBytes: Type.Integer({ minimum: 1 }),
  /** Once it has been, an upper that looks blank is a damaged one. */
  isFormatted: Type.Boolean(),
  /** The workspace was deleted, and its files are kept for the next one of that name. */
  isKept: Type.Boolean(),
  /** Why it does not run, where nobody stopped it; '' otherwise. */
  failure: Type.String(),
  run: Type.Union([runSchema, Type.Null()]),
})

/** What is remembered of a machine, in `instances/NAME/metadata.json`. */
export type Metadata = Static<typeof metadataSchema>
export type MachineRun = Static<typeof runSchema>

const isMetadata = new Ajv().compile<Metadata>(metadataSchema)

/** A machine's metadata as found: a file that is empty, cut or something else is unreadable, never absent (fault F8). */
export type MetadataReading =
  | { readonly is: 'known'; readonly metadata: Metadata }
  | { readonly is: 'absent' }
  | { readonly is: 'unreadable'; readonly why: string }

/** @param key the directory's name, which decides whose it is */
export function parseMetadata(text: string, key: string): MetadataReading {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { is: 'unreadable', why: text.trim() === '' ? 'it is empty' : 'it is no JSON' }
  }
  if (!isMetadata(value)) return { is: 'unreadable', why: 'it is not what the server writes' }
  if (value.name.toLowerCase() !== key) return { is: 'unreadable', why: 'it is of another workspace' }
  return { is: 'known', metadata: value }
}
