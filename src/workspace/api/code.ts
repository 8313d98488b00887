import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import { CODE_LANGUAGES, type CodeEnd, type CodeResult, type ContextOptions } from '../code/code-context.ts'
import type { ContextInfo, ContextSelector } from '../code/code-contexts.ts'
import { fault } from '../errors.ts'
import { STRICT, workspaceParams } from './parameters.ts'
import {
  DEFAULT_OUTPUT_BYTES,
  MAX_TIMEOUT_MS,
  maxOutputSchema,
  outputProperties,
  directoryFromWire,
  placeProperties,
} from './program.ts'

const languageSchema = (description: string) => Type.Enum(CODE_LANGUAGES, { description })

/** Body of a request that runs code. */
export const codeBodySchema = Type.Object(
  {
    code: Type.String(),
    language: Type.Optional(
      languageSchema('selects the default context of the language; default python; excludes context'),
    ),
    context: Type.Optional(Type.String({ description: 'id of a context; excludes language' })),
    timeout_ms: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_TIMEOUT_MS,
        description:
          'time after which the code is interrupted; if it does not end within 5 s, its context does; default none',
      }),
    ),
    max_output_bytes: maxOutputSchema,
  },
  STRICT,
)

/** Body of a request that creates a context. */
export const contextBodySchema = Type.Object(
  { language: languageSchema('language'), ...placeProperties },
  STRICT,
)

/** A context as clients see it. */
export const contextSchema = Type.Object(
  {
    id: Type.String({ description: 'that of a default context is its language' }),
    language: languageSchema('language'),
    created_at: Type.String({ format: 'date-time' }),
  },
  { $id: 'CodeContext' },
)

/** Path parameters that select a context. */
export const contextParams = Type.Object({
  ...workspaceParams.properties,
  id: Type.String({ description: 'id of a context' }),
})

const resultSchema = Type.Object({
  data: Type.Unsafe<Record<string, string>>({
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'representations by MIME type; images in base64',
  }),
  is_value: Type.Boolean({ description: 'whether it is the value of the last expression, or was displayed' }),
})

const endProperties = {
  context: Type.String({ description: 'id of the context' }),
  execution_count: Type.Integer(),
  error: Type.Union(
    [Type.Object({ name: Type.String(), value: Type.String(), traceback: Type.String() }), Type.Null()],
    { description: 'what the code raised; null if it succeeded' },
  ),
  timed_out: Type.Boolean(),
  duration_ms: Type.Integer(),
}

/** The end of code, its output and its results. */
export const codeResultSchema = Type.Object({
  ...endProperties,
  ...outputProperties,
  results: Type.Array(resultSchema),
  results_dropped: Type.Integer({ description: 'results that exceeded 16 MiB' }),
})
/** The end of code, its output and its results as clients see them. */
export type WireCodeResult = Static<typeof codeResultSchema>

/** Decodes the selection of a context. @throws INVALID_REQUEST when it is selected twice */
export function selectorFromWire({
  language,
  context,
}: Pick<Static<typeof codeBodySchema>, 'language' | 'context'>): ContextSelector {
  if (context === undefined) return { by: 'language', language: language ?? 'python' }
  if (language === undefined) return { by: 'id', id: context }
  throw fault('INVALID_REQUEST', 'set either context, or language for its default context')
}

/** Decodes how code is run. */
export function codeFromWire({ code, timeout_ms, max_output_bytes }: Static<typeof codeBodySchema>) {
  return { code, timeoutMs: timeout_ms, maxOutputBytes: max_output_bytes ?? DEFAULT_OUTPUT_BYTES }
}

/** Decodes where a context starts. */
export function contextFromWire({ env, user, ...place }: Static<typeof contextBodySchema>): ContextOptions {
  return { directory: directoryFromWire(place), environment: env ?? {}, user }
}

/** Encodes a context. */
export function contextToWire({ id, language, createdAt }: ContextInfo): Static<typeof contextSchema> {
  return { id, language, created_at: createdAt.toISOString() }
}

/** Encodes a result of code. */
export function resultToWire({ data, isValue }: CodeResult): Static<typeof resultSchema> {
  return { data: { ...data }, is_value: isValue }
}

/** Encodes the end of code, as data of an `end` event. */
export function codeEndToWire({ id, executionCount, error, hasTimedOut, durationMs }: CodeEnd & ContextInfo) {
  return {
    context: id,
    execution_count: executionCount,
    error,
    timed_out: hasTimedOut,
    duration_ms: durationMs,
  }
}
