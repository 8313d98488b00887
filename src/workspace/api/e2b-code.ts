import type { Static } from 'typebox'
import { isTooDeep } from '../../lib/schema/json-depth.ts'
import { Type } from '../../lib/schema/type.ts'
import { CODE_LANGUAGES, type CodeLanguage, type CodeResult } from '../code/code-context.ts'
import type { ContextInfo, ContextSelector } from '../code/code-contexts.ts'
import type { CodeError } from '../code/runner-messages.ts'
import { fault } from '../errors.ts'
import { shownPath } from '../path-text.ts'
import { WORKSPACE_DIR } from '../workspace.ts'

const textOrNull = Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'] }))

/** Body of a request that runs code, in the form of E2B's code interpreter. */
export const executeSchema = Type.Object({
  code: Type.String(),
  context_id: textOrNull,
  language: textOrNull,
  env_vars: Type.Optional(
    Type.Unsafe<Readonly<Record<string, string>> | null>({
      type: ['object', 'null'],
      additionalProperties: { type: 'string' },
    }),
  ),
})

/** Body of a request that creates a context, in the same form. */
export const newContextSchema = Type.Object({ language: textOrNull, cwd: textOrNull })

/** Names that E2B accepts for the languages here. */
const ALIASES: ReadonlyMap<string, string> = new Map([['js', 'javascript']])
const SUPPORTED = CODE_LANGUAGES.join(' and ')

/** Decodes the name of a language; the default is Python. @throws INVALID_REQUEST for one that has no interpreter here */
export function languageFromWire(text: string | null | undefined): CodeLanguage {
  const name = (text ?? '').toLowerCase().trim() || 'python'
  const language = CODE_LANGUAGES.find((each) => each === (ALIASES.get(name) ?? name))
  if (language !== undefined) return language
  const shown = JSON.stringify(name.slice(0, 80))
  throw fault('INVALID_REQUEST', `language ${shown} is not supported by this server, which has ${SUPPORTED}`)
}

/** Decodes the selection of a context. @throws INVALID_REQUEST */
export function contextFromE2b({
  context_id: id,
  language,
}: Pick<Static<typeof executeSchema>, 'context_id' | 'language'>): ContextSelector {
  if (!id) return { by: 'language', language: languageFromWire(language) }
  if (language) throw fault('INVALID_REQUEST', 'only one of context_id or language can be provided')
  return isDefaultContext(id) ? { by: 'language', language: id } : { by: 'id', id }
}

/** Whether an id is that of a language's default context, which exists when it is used. */
export function isDefaultContext(id: string): id is CodeLanguage {
  return CODE_LANGUAGES.some((each) => each === id)
}

/** @throws INVALID_REQUEST for a field of a body that has no counterpart here: a client relies on what it sends */
export function refuseUnknown(body: object, schema: { readonly properties: object }): void {
  const unknown = Object.entries(body).find(
    ([name, value]) => value !== null && !Object.hasOwn(schema.properties, name),
  )
  if (unknown === undefined) return
  const name = JSON.stringify(unknown[0].slice(0, 80))
  throw fault('INVALID_REQUEST', `the field ${name} is not supported by this server; omit it`)
}

/** Encodes a context. */
export function contextToE2b({
  id,
  language,
  directory,
}: Pick<ContextInfo, 'id' | 'language' | 'directory'>) {
  return { id, language, cwd: shownPath(directory ?? WORKSPACE_DIR) }
}

/** Encodes contexts; the default ones come first, as if they had been started with the sandbox. */
export function contextsToE2b(contexts: readonly ContextInfo[]) {
  const defaults = CODE_LANGUAGES.map((language) => ({ id: language, language, directory: undefined }))
  return [...defaults, ...contexts.filter(({ id }) => !isDefaultContext(id))].map(contextToE2b)
}

/** Field names of representations by MIME type, and whether they are JSON. Source: E2B's template/server/api/models/result.py */
const FIELDS: ReadonlyMap<string, { readonly name: string; readonly is: 'text' | 'json' | 'object' }> =
  new Map([
    ['text/plain', { name: 'text', is: 'text' }],
    ['text/html', { name: 'html', is: 'text' }],
    ['text/markdown', { name: 'markdown', is: 'text' }],
    ['image/svg+xml', { name: 'svg', is: 'text' }],
    ['image/png', { name: 'png', is: 'text' }],
    ['image/jpeg', { name: 'jpeg', is: 'text' }],
    ['application/pdf', { name: 'pdf', is: 'text' }],
    ['text/latex', { name: 'latex', is: 'text' }],
    ['application/json', { name: 'json', is: 'json' }],
    ['application/javascript', { name: 'javascript', is: 'text' }],
    ['e2b/data', { name: 'data', is: 'object' }],
    ['e2b/chart', { name: 'chart', is: 'object' }],
  ])

/** Encodes a result as a line. */
export function resultLine({ data, isValue }: CodeResult): Buffer {
  const fields = [member('type', '"result"'), member('is_main_result', String(isValue))]
  const extra: string[] = []
  for (const [type, text] of Object.entries(data)) {
    const field = FIELDS.get(type)
    const json = field === undefined || field.is === 'text' ? undefined : jsonIn(text)
    if (field === undefined || (field.is === 'object' && json?.startsWith('{') !== true))
      extra.push(member(type, JSON.stringify(text)))
    else fields.push(member(field.name, json ?? JSON.stringify(type === 'text/plain' ? bare(text) : text)))
  }
  return line(`{${[...fields, member('extra', `{${extra.join(',')}}`)].join(',')}}`)
}

/** Encodes output as a line, with the time in E2B's form. */
export function outputLine(type: 'stdout' | 'stderr', text: string, nowMs = Date.now()): Buffer {
  // E2B's server sends Python's `isoformat`, although its SDKs declare a number.
  const timestamp = new Date(nowMs).toISOString().replace('Z', '000+00:00')
  return line(JSON.stringify({ type, text, timestamp }))
}

/** Encodes an exception of the code as a line. */
export function errorLine({ name, value, traceback }: CodeError): Buffer {
  return line(JSON.stringify({ type: 'error', name, value, traceback }))
}

/** Encodes the number of a run as a line. */
export function countLine(executionCount: number): Buffer {
  return line(JSON.stringify({ type: 'number_of_executions', execution_count: executionCount }))
}

/** Last line of a run. */
export const END_LINE = line('{"type":"end_of_execution"}')
/** Line that keeps the connection alive. */
export const KEEPALIVE_LINE = line('{"type":"keepalive"}')

/** Encodes JSON without line breaks: E2B's SDK for JavaScript decodes chunks separately, that for Python splits lines at U+2028. */
function line(json: string): Buffer {
  return Buffer.from(`${json.replace(/[^ -~]/g, escape)}\n`, 'latin1')
}

function escape(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function member(name: string, json: string): string {
  return `${JSON.stringify(name)}:${json}`
}

/** Returns JSON text, which may be passed on as it is; undefined if it is not valid or nested too deeply for a client's parser. */
function jsonIn(text: string): string | undefined {
  if (isTooDeep(text)) return undefined
  try {
    JSON.parse(text)
  } catch {
    return undefined
  }
  // Strings in JSON have none of these: they are between its parts.
  return text.trim().replace(/[\r\n\t]/g, ' ')
}

/** Returns a text without the quotes that a string's representation has, as E2B does. */
function bare(text: string): string {
  const [first, last] = [text.at(0), text.at(-1)]
  return (first === "'" || first === '"') && first === last ? text.slice(1, -1) : text
}
