import type { Tool } from '@modelcontextprotocol/sdk/types.js'
import { type ParameterSchema, queries } from '../../../api/queries.ts'
import { fault } from '../../../errors.ts'

type Arguments = Readonly<Record<string, unknown>>

/** A tool for agents: its input schema, and the server request or command that produces the answer. */
export interface AgentTool {
  readonly tool: Tool
  /** @throws BAD_REQUEST when an argument is invalid */
  readonly request: (args: Arguments) => ToolRequest
}

type ToolRequest =
  | {
      readonly is: 'get' | 'post'
      readonly path: string
      readonly query: URLSearchParams
      readonly body?: Readonly<Record<string, unknown>>
      /** Whether the query takes `page` and `size`. */
      readonly isPaged: boolean
    }
  | { readonly is: 'explore'; readonly name: string }
  | { readonly is: 'diff'; readonly argv: readonly string[] }

/** Parameters of every tool. */
const COMMON_PARAMETERS: Readonly<Record<string, ParameterSchema>> = {
  maxTokens: { type: 'integer', minimum: 100, description: 'maximum length of the answer; default 4000' },
  offset: {
    type: 'integer',
    minimum: 0,
    description: 'first row of a long list, from a truncated answer',
  },
}

/** All tools: one per query, and those for the whole project. */
export const agentTools: ReadonlyMap<string, AgentTool> = new Map(
  [
    ...queries.map(([name, { path, summary, about, part, parameters }]) => {
      const subjects = [about, part].filter((subject) => subject !== undefined)
      const keys = subjects.map(({ key }) => key)
      return toolOf(
        name,
        summary,
        {
          ...Object.fromEntries(subjects.map(({ key, description }) => [key, text(description)])),
          ...parameters,
        },
        keys,
        (args) => {
          const argument = (key: string | undefined): string =>
            key === undefined ? '' : encodeURIComponent(String(args[key]))
          const query = Object.entries(args).filter(([key]) => !keys.includes(key))
          return {
            is: 'get',
            path: `/api/v1${path.replace(':name', () => argument(about?.key)).replace(`:${part?.key}`, () => argument(part?.key))}`,
            query: new URLSearchParams(query.map(([key, value]): [string, string] => [key, String(value)])),
            isPaged: 'size' in parameters,
          }
        },
      )
    }),
    toolOf(
      'explore',
      'Show a class with its members, users, calls and source, as much as fits',
      { fqn: text('full or simple name of a class') },
      ['fqn'],
      ({ fqn }) => ({ is: 'explore', name: encodeURIComponent(String(fqn)) }),
    ),
    toolOf('status', "Show the project's server, its state and the time of its last scan", {}, [], () =>
      plain('get', '/api/v1/project'),
    ),
    toolOf('diagnostics', 'List files that could not be read, with the reason', {}, [], () =>
      plain('get', '/api/v1/project/diagnostics'),
    ),
    toolOf(
      'lint',
      'List style violations in the files that match a pattern',
      { pattern: text('files to check, for example src/main/**/*.java; default all') },
      [],
      (args) => ({ ...plain('post', '/api/v1/linter/lint/project'), body: args }),
    ),
    toolOf('refresh', 'Rescan compiled classes that changed', {}, [], () =>
      plain('post', '/api/v1/project/refresh'),
    ),
    toolOf(
      'diff',
      'Compare the APIs of two builds and report changes that break programs compiled against the old one',
      {
        old: text('jar or class folder of the older build; relative to the project’s root'),
        new: text('jar or class folder of the newer build'),
        all: { type: 'boolean', description: 'include what is neither public nor protected; default false' },
      },
      ['old', 'new'],
      ({ old, new: newer, all }) => ({
        is: 'diff',
        argv: [...(all === true ? ['--all'] : []), '--', String(old), String(newer)],
      }),
    ),
  ].map((each) => [each.tool.name, each]),
)

function plain(is: 'get' | 'post', path: string) {
  return { is, path, query: new URLSearchParams(), isPaged: false } as const
}

function text(description: string): ParameterSchema {
  return { type: 'string', description }
}

function toolOf(
  name: string,
  description: string,
  properties: Readonly<Record<string, ParameterSchema>>,
  required: readonly string[],
  request: AgentTool['request'],
): AgentTool {
  const readOnlyHint = name !== 'refresh'
  return {
    tool: {
      name,
      description,
      inputSchema: {
        type: 'object',
        properties: { ...properties, ...COMMON_PARAMETERS },
        required: [...required],
        additionalProperties: false,
      },
      annotations: { title: description, readOnlyHint, openWorldHint: false },
    },
    request(args) {
      for (const key of required) {
        if (args[key] === undefined || args[key] === '')
          throw fault('BAD_REQUEST', `parameter "${key}" is missing`)
      }
      const known = { ...properties, ...COMMON_PARAMETERS }
      for (const [key, value] of Object.entries(args)) check(key, value, known[key], known)
      const { maxTokens: _maxTokens, offset: _offset, ...about } = args
      return request(about)
    },
  }
}

function check(
  key: string,
  value: unknown,
  parameter: ParameterSchema | undefined,
  known: Readonly<Record<string, ParameterSchema>>,
): void {
  if (parameter === undefined) {
    const names = Object.keys(known).join(', ') || 'none'
    throw fault('BAD_REQUEST', `unknown parameter "${key.slice(0, 80)}"; known parameters: ${names}`)
  }
  const isFitting =
    parameter.type === 'integer' ? Number.isSafeInteger(value) : typeof value === parameter.type
  if (!isFitting) {
    const got = JSON.stringify(value)?.slice(0, 80)
    throw fault('BAD_REQUEST', `parameter "${key}" must be of type ${parameter.type}, not ${got}`)
  }
}
