import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import type { FileEntry } from '../files/entry.ts'
import { shownPath } from '../path-text.ts'
import type { CreateInput } from '../lifecycle/create-request.ts'
import type { Usage } from '../usage/usage-sampler.ts'
import type { Workspace } from '../workspace.ts'

/** Label of a workspace that is a sandbox for clients of E2B; its value is the template's name. */
export const SANDBOX_LABEL = 'e2b.template'
/**
 * The version that E2B's SDKs compare with what they need. Later ones have metadata of files, and entries in events of a
 * watch, which the SDKs then refuse with a clear error.
 */
const ENVD_VERSION = '0.6.1'
/** The port that E2B's SDKs expect the interface inside a sandbox on. */
export const ENVD_PORT = 49_983
/** The port that E2B's code interpreter is expected on. */
export const INTERPRETER_PORT = 49_999
/** The templates of sandboxes created without one, by the SDKs and by those for code. */
const [BASE_TEMPLATE, CODE_TEMPLATE] = ['base', 'code-interpreter-v1']
const DEFAULT_TIMEOUT_S = 300
const MAX_TIMEOUT_S = 31 * 86_400
/** The end of a sandbox without one, which the SDKs require. */
const NO_END_MS = 10 * 365 * 86_400_000

// Unknown fields are accepted everywhere: newer SDKs send them.
const timeout = Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_TIMEOUT_S }))
const texts = Type.Unsafe<Readonly<Record<string, string>>>({
  type: 'object',
  additionalProperties: { type: 'string' },
})
const orNull = <T>(type: string) => Type.Optional(Type.Unsafe<T | null>({ type: [type, 'null'] }))

/** Request body for creating a sandbox. */
export const newSandboxSchema = Type.Object({
  templateID: Type.String({ minLength: 1, maxLength: 200 }),
  timeout,
  metadata: Type.Optional(texts),
  envVars: Type.Optional(texts),
  autoPause: Type.Optional(Type.Boolean()),
  autoPauseMemory: Type.Optional(Type.Boolean()),
  autoResume: Type.Optional(Type.Object({ enabled: Type.Optional(Type.Boolean()) })),
  allow_internet_access: orNull<boolean>('boolean'),
  network: orNull<Readonly<Record<string, unknown>>>('object'),
  mcp: orNull<Readonly<Record<string, unknown>>>('object'),
  iam: orNull<Readonly<Record<string, unknown>>>('object'),
  volumeMounts: Type.Optional(Type.Array(Type.Unsafe<unknown>({}))),
})

/** Request body of `connect`, `resume` and `timeout`. */
export const timeoutBodySchema = Type.Object({ timeout })

/** Request body of `pause`. */
export const pauseBodySchema = Type.Object({ memory: Type.Optional(Type.Boolean()) })

/** Query of the list of sandboxes. */
export const listQuerySchema = Type.Object({
  metadata: Type.Optional(Type.String()),
  state: Type.Optional(Type.String()),
  template: Type.Optional(Type.String()),
  startedAfter: Type.Optional(Type.String()),
  order: Type.Optional(Type.String()),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
  nextToken: Type.Optional(Type.String()),
})

/** Fields of a creation that have no counterpart here. */
const UNSUPPORTED = ['mcp', 'iam', 'volumeMounts'] as const
/** Parts of `network` that have no counterpart here. */
const UNSUPPORTED_NETWORK = ['allowOut', 'denyOut', 'rules', 'egressProxy', 'maskRequestHost', 'httpsPorts']

/** Returns why a sandbox cannot be created as requested; undefined if it can. */
export function unsupportedIn(body: Static<typeof newSandboxSchema>): string | undefined {
  const field = UNSUPPORTED.find((name) => isGiven(body[name]))
  if (field !== undefined) return `${field} is not supported by this server; omit it`
  const part = UNSUPPORTED_NETWORK.find((name) => isGiven(body.network?.[name]))
  if (part !== undefined)
    return `network.${part} is not supported by this server; name a template with network`
  if (body.autoPause === true && body.autoPauseMemory !== false)
    return 'a sandbox cannot be paused with its memory when its timeout ends; set keepMemory to false, or call pause'
  return undefined
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && (!Array.isArray(value) || value.length > 0)
}

/** Returns the seconds that a sandbox has left: for E2B, 0 ends it at once, and here a lifetime of 0 has no end. */
export function lifetimeOf(timeoutS = DEFAULT_TIMEOUT_S): number {
  return Math.max(1, timeoutS)
}

/** Decodes the request body of a creation. @param isTemplate whether the server has a template of that name */
export function sandboxFromWire(
  name: string,
  body: Static<typeof newSandboxSchema>,
  isTemplate: boolean,
): CreateInput {
  const { templateID, metadata, envVars, autoPause, autoResume, timeout: ttlS } = body
  const isDefault = templateID === BASE_TEMPLATE || templateID === CODE_TEMPLATE
  return {
    name,
    template: isDefault && !isTemplate ? undefined : templateID,
    labels: { ...metadata, [SANDBOX_LABEL]: templateID },
    environment: envVars,
    ttlS: lifetimeOf(ttlS),
    expireAction: autoPause === true ? 'stop' : 'delete',
    // Only its timeout ends a sandbox.
    idle: { stopAfter: 0, suspendAfter: 0 },
    wake: autoResume?.enabled === true,
    ...(body.allow_internet_access === false && { network: { egress: 'none' } }),
  }
}

/** Tokens for requests to one sandbox; undefined if the server requires none. */
interface SandboxTokens {
  readonly envd: string
  readonly traffic: string
}

/** Encodes a sandbox that a client may now use. @param domain the domain below which its ports have host names */
export function sandboxToWire(
  workspace: Workspace,
  tokens: SandboxTokens | undefined,
  domain: string | undefined,
) {
  return {
    sandboxID: workspace.name,
    templateID: workspace.labels?.[SANDBOX_LABEL] ?? BASE_TEMPLATE,
    clientID: workspace.name,
    envdVersion: ENVD_VERSION,
    ...(tokens && { envdAccessToken: tokens.envd, trafficAccessToken: tokens.traffic }),
    ...(domain !== undefined && { domain }),
  }
}

/** Encodes a sandbox for lists and details. */
export function sandboxInfoToWire(workspace: Workspace) {
  const { createdAt, expiry, cpus, memoryMb, state } = workspace
  const { [SANDBOX_LABEL]: _template, ...metadata } = workspace.labels ?? {}
  return {
    ...sandboxToWire(workspace, undefined, undefined),
    startedAt: createdAt.toISOString(),
    endAt: (expiry?.at ?? new Date(createdAt.getTime() + NO_END_MS)).toISOString(),
    state: state.is === 'running' || state.is === 'starting' ? 'running' : 'paused',
    cpuCount: cpus,
    memoryMB: memoryMb,
    diskSizeMB: 0,
    metadata,
    volumeMounts: [],
  }
}

/** Encodes the current usage of a sandbox; what is not measured is 0. */
export function metricToWire(
  { cpus, memoryMb }: Workspace,
  { cpuPercent, memoryBytes }: Usage,
  nowMs = Date.now(),
) {
  return {
    timestamp: new Date(nowMs).toISOString(),
    timestampUnix: Math.floor(nowMs / 1_000),
    cpuCount: cpus,
    cpuUsedPct: cpuPercent ?? 0,
    memUsed: memoryBytes,
    memTotal: memoryMb * 2 ** 20,
    memCache: 0,
    diskUsed: 0,
    diskTotal: 0,
  }
}

/** Encodes a file entry as the JSON form of `filesystem.EntryInfo`. */
export function entryToWire(entry: FileEntry, path: string) {
  const types = { file: 'FILE_TYPE_FILE', directory: 'FILE_TYPE_DIRECTORY', link: 'FILE_TYPE_SYMLINK' }
  return {
    name: shownPath(entry.name),
    type: entry.kind === 'other' ? 'FILE_TYPE_UNSPECIFIED' : types[entry.kind],
    path: shownPath(path),
    // 64-bit integers are texts in the JSON form.
    size: String(entry.bytes),
    mode: entry.mode,
    permissions: permissionsOf(entry),
    owner: String(entry.userId),
    group: String(entry.groupId),
    modifiedTime: timeToWire(entry.modifiedAt),
  }
}

const MAX_WIRE_MS = Date.UTC(9_999, 11, 31)
const MIN_WIRE_MS = new Date('0001-01-02T00:00:00Z').getTime()

/** Encodes a time; protobuf knows only the years 1 to 9999, and a workspace can set any. */
function timeToWire(time: Date): string {
  return new Date(Math.max(MIN_WIRE_MS, Math.min(time.getTime(), MAX_WIRE_MS))).toISOString()
}

function permissionsOf({ kind, mode }: FileEntry): string {
  const type = { file: '-', directory: 'd', link: 'L', other: '?' }[kind]
  const bits = Array.from('rwxrwxrwx', (letter, i) => ((mode >> (8 - i)) & 1 ? letter : '-'))
  return type + bits.join('')
}

const selector = Type.Object({
  pid: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 ** 32 - 1 })),
  tag: Type.Optional(Type.String({ maxLength: 200 })),
})
/** Which program a request is for. */
export type WireSelector = Static<typeof selector>
const terminalSize = Type.Object({
  size: Type.Optional(
    Type.Object({
      cols: Type.Optional(Type.Integer({ minimum: 0, maximum: 4_096 })),
      rows: Type.Optional(Type.Integer({ minimum: 0, maximum: 4_096 })),
    }),
  ),
})
/** Size of a terminal. */
export type WireTerminal = Static<typeof terminalSize>
const input = Type.Object({ stdin: Type.Optional(Type.String()), pty: Type.Optional(Type.String()) })
/** Bytes for a program, in base64. */
export type WireInput = Static<typeof input>

/** Messages to `process.Process`, in their JSON form: fields with their default value are left out. */
export const processMessages = {
  list: Type.Object({}),
  start: Type.Object({
    process: Type.Object({
      cmd: Type.String({ minLength: 1 }),
      args: Type.Optional(Type.Array(Type.String())),
      envs: Type.Optional(texts),
      cwd: Type.Optional(Type.String()),
    }),
    pty: Type.Optional(terminalSize),
    tag: Type.Optional(Type.String({ maxLength: 200 })),
    stdin: Type.Optional(Type.Boolean()),
  }),
  select: Type.Object({ process: selector }),
  sendInput: Type.Object({ process: selector, input: Type.Optional(input) }),
  streamInput: Type.Object({
    start: Type.Optional(Type.Object({ process: selector })),
    data: Type.Optional(Type.Object({ input: Type.Optional(input) })),
  }),
  sendSignal: Type.Object({
    process: selector,
    signal: Type.Enum(['SIGNAL_SIGTERM', 'SIGNAL_SIGKILL', 15, 9]),
  }),
  update: Type.Object({ process: selector, pty: Type.Optional(terminalSize) }),
} as const

const path = Type.Optional(Type.String())

/** Messages to `filesystem.Filesystem`, in their JSON form. */
export const filesystemMessages = {
  path: Type.Object({ path }),
  move: Type.Object({ source: Type.String(), destination: Type.String() }),
  listDir: Type.Object({ path, depth: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })) }),
  watch: Type.Object({ path, recursive: Type.Optional(Type.Boolean()) }),
  watcher: Type.Object({ watcherId: Type.String() }),
} as const
