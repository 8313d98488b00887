import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import type { OutputPart } from '../program/output-log.ts'
import type { BackgroundProcess } from '../program/process-table.ts'
import type { Program } from '../program/program.ts'
import type { OutputTail, ProgramEnd } from '../program/run-program.ts'
import { fault } from '../errors.ts'
import { pathFromWire } from './file.ts'
import { STRICT, workspaceParams } from './parameters.ts'

const MAX_OUTPUT_BYTES = 8 * 2 ** 20
/** Output of each stream in a response by default. */
export const DEFAULT_OUTPUT_BYTES = 2 ** 20
/** Longest time limit of a program. */
export const MAX_TIMEOUT_MS = 24 * 3_600_000
/** Signals that a client can send. */
const SIGNALS = [
  'SIGHUP',
  'SIGINT',
  'SIGQUIT',
  'SIGKILL',
  'SIGUSR1',
  'SIGUSR2',
  'SIGTERM',
  'SIGCONT',
  'SIGSTOP',
] as const
const EXIT_STATUS = 'exit status; 128 + n after signal n'

/** Where a program runs. */
export const placeProperties = {
  cwd_encoded: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'percent-encoded bytes, in place of cwd: for names that are not UTF-8',
    }),
  ),
  cwd: Type.Optional(
    Type.String({ minLength: 1, description: "working directory; default the image's, usually /workspace" }),
  ),
  env: Type.Optional(
    Type.Unsafe<Record<string, string>>({
      type: 'object',
      additionalProperties: { type: 'string' },
      maxProperties: 1024,
      description: 'environment variables, in addition to those of a login',
    }),
  ),
  user: Type.Optional(Type.String({ description: "name or number of a user; default the workspace's" })),
}

/** Properties of every body that starts a program. */
const programProperties = {
  command: Type.Optional(Type.String({ description: "a line for the user's shell; excludes argv" })),
  argv: Type.Optional(
    Type.Array(Type.String(), {
      minItems: 1,
      maxItems: 4096,
      description: 'a program and its arguments; excludes command',
    }),
  ),
  ...placeProperties,
}

/** Limit of the output in a response. */
export const maxOutputSchema = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: MAX_OUTPUT_BYTES,
    description: `bytes of each stream to return, from its end; default ${DEFAULT_OUTPUT_BYTES}; not for event streams`,
  }),
)

/** Body of a request that runs a program to its end. */
export const execBodySchema = Type.Object(
  {
    ...programProperties,
    stdin: Type.Optional(Type.String({ description: 'text for its standard input; default empty' })),
    timeout_ms: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_TIMEOUT_MS,
        description: 'time after which it gets SIGTERM, and SIGKILL 5 s later; default none',
      }),
    ),
    max_output_bytes: maxOutputSchema,
    encoding: Type.Optional(
      Type.Enum(['utf8', 'base64'], { description: 'encoding of stdout and stderr; default utf8' }),
    ),
  },
  STRICT,
)
type ExecBody = Static<typeof execBodySchema>

const endProperties = {
  exit_status: Type.Integer({ description: EXIT_STATUS }),
  signal: Type.Union([Type.String(), Type.Null()], {
    description: 'the signal that terminated it, if known',
  }),
  timed_out: Type.Boolean(),
  duration_ms: Type.Integer(),
}

/** Output in a response. */
export const outputProperties = {
  stdout: Type.String(),
  stderr: Type.String(),
  stdout_dropped_bytes: Type.Integer({ description: 'bytes before stdout that exceeded max_output_bytes' }),
  stderr_dropped_bytes: Type.Integer({ description: 'bytes before stderr that exceeded max_output_bytes' }),
}

/** Encodes the kept ends of output. */
export function outputTailsToWire(
  tails: Readonly<Record<'stdout' | 'stderr', OutputTail>>,
  encoding: 'utf8' | 'base64',
) {
  const [out, error] = [tails.stdout.end(), tails.stderr.end()]
  return {
    stdout: out.bytes.toString(encoding),
    stderr: error.bytes.toString(encoding),
    stdout_dropped_bytes: out.droppedBytes,
    stderr_dropped_bytes: error.droppedBytes,
  }
}

/** The end of a program and its output. */
export const execResultSchema = Type.Object({ ...endProperties, ...outputProperties })

/** The end of a program and its output as clients see them. */
export type WireExecResult = Static<typeof execResultSchema>

/** The end of a program as data of an `exit` event. */
export function endToWire({ status, signal, hasTimedOut, durationMs }: ProgramEnd) {
  return { exit_status: status, signal: signal ?? null, timed_out: hasTimedOut, duration_ms: durationMs }
}

/** Decodes the directory of a program. @throws INVALID_REQUEST when it is set twice */
export function directoryFromWire({
  cwd,
  cwd_encoded: encoded,
}: Pick<ProgramBody, 'cwd' | 'cwd_encoded'>): string | undefined {
  return cwd === undefined && encoded === undefined ? undefined : pathFromWire(cwd, encoded, 'cwd')
}

/** Body of a request that starts a background process. */
export const processBodySchema = Type.Object(programProperties, STRICT)

type ProgramBody = Static<typeof processBodySchema>

/** Decodes the program of a request. @throws INVALID_REQUEST unless exactly one of `command` and `argv` is set */
export function programFromWire({ command, argv, env, user, ...place }: ProgramBody): Program {
  if ((command === undefined) === (argv === undefined))
    throw fault(
      'INVALID_REQUEST',
      'set either command, a line for the shell, or argv, a program with its arguments',
    )
  return {
    command: command ?? (argv as unknown as readonly [string, ...string[]]),
    directory: directoryFromWire(place),
    environment: env ?? {},
    user,
  }
}

/** Decodes how a program is run to its end. */
export function execFromWire({ stdin, timeout_ms, max_output_bytes, encoding }: ExecBody) {
  return {
    input: stdin ?? '',
    timeoutMs: timeout_ms,
    maxOutputBytes: max_output_bytes ?? DEFAULT_OUTPUT_BYTES,
    encoding: encoding ?? 'utf8',
  }
}

/** A background process. */
export const processSchema = Type.Object(
  {
    id: Type.String(),
    command: Type.Union([Type.String(), Type.Null()]),
    argv: Type.Union([Type.Array(Type.String()), Type.Null()]),
    status: Type.Enum(['running', 'ended']),
    started_at: Type.String({ format: 'date-time' }),
    ended_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    exit_status: Type.Union([Type.Integer(), Type.Null()], { description: EXIT_STATUS }),
    signal: Type.Union([Type.String(), Type.Null()], {
      description: 'the signal that terminated it, if known',
    }),
  },
  { $id: 'Process' },
)
/** A background process as clients see it. */
export type WireProcess = Static<typeof processSchema>

/** Encodes a background process. */
export function processToWire({ id, command, startedAt, end }: BackgroundProcess): WireProcess {
  return {
    id,
    command: typeof command === 'string' ? command : null,
    argv: typeof command === 'string' ? null : [...command],
    status: end === undefined ? 'running' : 'ended',
    started_at: startedAt.toISOString(),
    ended_at: end?.at.toISOString() ?? null,
    exit_status: end?.status ?? null,
    signal: end?.signal ?? null,
  }
}

/** Path parameters that select a background process. */
export const processParams = Type.Object({
  ...workspaceParams.properties,
  id: Type.String({ description: 'id of a background process' }),
})

/** Query for the output of a background process. */
export const outputQuerySchema = Type.Object(
  {
    after: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'position after which to start, the `next` of an earlier response; default 0',
      }),
    ),
  },
  STRICT,
)

/** Output of a background process. */
export const outputSchema = Type.Object({
  output: Type.Array(Type.Object({ stream: Type.Enum(['stdout', 'stderr']), text: Type.String() })),
  next: Type.Integer({ description: 'position after the last piece' }),
  dropped_bytes: Type.Integer({ description: 'bytes before the first piece that are no longer kept' }),
  process: Type.Ref('Process'),
})

/** Encodes output after a position. */
export function outputToWire(
  { entries, droppedBytes }: OutputPart,
  after: number,
  process: BackgroundProcess,
) {
  return {
    output: entries.map(({ stream, text }) => ({ stream, text })),
    next: entries.at(-1)?.end ?? after + droppedBytes,
    dropped_bytes: droppedBytes,
    process: processToWire(process),
  }
}

/** Output of a background process as clients see it. */
export type WireOutput = ReturnType<typeof outputToWire>

/** Body of a request that writes to a background process. */
export const inputBodySchema = Type.Object(
  {
    text: Type.String(),
    end: Type.Optional(Type.Boolean({ description: 'true closes its standard input afterwards' })),
  },
  STRICT,
)

/** Body of a request that signals a background process. */
export const signalBodySchema = Type.Object({ signal: Type.Enum(SIGNALS) }, STRICT)
