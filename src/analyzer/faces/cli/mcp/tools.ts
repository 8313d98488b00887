import type { Tool } from '@modelcontextprotocol/sdk/types.js'
import { type QuestionParameter, questions } from '../../../api/questions.ts'
import { fault } from '../../../errors.ts'

type Arguments = Readonly<Record<string, unknown>>

/** A tool for agents: what it takes, and the request to the project's server, or the command, that gives the answer. */
export interface AgentTool {
  readonly tool: Tool
  /** @throws BAD_REQUEST for arguments that make no request */
  readonly request: (given: Arguments) => ToolRequest
}

type ToolRequest =
  | { readonly is: 'get' | 'post'; readonly path: string; readonly query: URLSearchParams }
  | { readonly is: 'diff'; readonly argv: readonly string[] }

/** One for each question, `refresh` and `diff`. */
export const agentTools: ReadonlyMap<string, AgentTool> = new Map(
  [
    ...questions.map(([name, { path, summary, about, part, parameters }]) => {
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
        (given) => {
          const said = (key: string | undefined): string =>
            key === undefined ? '' : encodeURIComponent(String(given[key]))
          const query = Object.entries(given).filter(([key]) => !keys.includes(key))
          return {
            is: 'get',
            path: `/api/v1${path.replace(':name', () => said(about?.key)).replace(`:${part?.key}`, () => said(part?.key))}`,
            query: new URLSearchParams(query.map(([key, value]): [string, string] => [key, String(value)])),
          }
        },
      )
    }),
    toolOf('refresh', 'Reads again what has changed in the compiled classes', {}, [], () => ({
      is: 'post',
      path: '/api/v1/project/refresh',
      query: new URLSearchParams(),
    })),
    toolOf(
      'diff',
      'How the API of two builds differs, and which changes break programs compiled against the old one',
      {
        old: text('jar or class folder of the older build; relative to the project’s root'),
        new: text('jar or class folder of the newer build'),
        all: { type: 'boolean', description: 'also what is neither public nor protected; default false' },
      },
      ['old', 'new'],
      ({ old, new: newer, all }) => ({
        is: 'diff',
        argv: [...(all === true ? ['--all'] : []), '--', String(old), String(newer)],
      }),
    ),
  ].map((each) => [each.tool.name, each]),
)

function text(description: string): QuestionParameter {
  return { type: 'string', description }
}

function toolOf(
  name: string,
  description: string,
  properties: Readonly<Record<string, QuestionParameter>>,
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
        properties: { ...properties },
        required: [...required],
        additionalProperties: false,
      },
      annotations: { title: description, readOnlyHint, openWorldHint: false },
    },
    request(given) {
      for (const key of required) {
        if (given[key] === undefined || given[key] === '') throw fault('BAD_REQUEST', `"${key}" is missing`)
      }
      for (const [key, value] of Object.entries(given)) check(key, value, properties[key], properties)
      return request(given)
    },
  }
}

function check(
  key: string,
  value: unknown,
  parameter: QuestionParameter | undefined,
  known: Readonly<Record<string, QuestionParameter>>,
): void {
  if (parameter === undefined) {
    const names = Object.keys(known).join(', ') || 'none'
    throw fault('BAD_REQUEST', `"${key.slice(0, 80)}" is not known; known: ${names}`)
  }
  const isFitting =
    parameter.type === 'integer' ? Number.isSafeInteger(value) : typeof value === parameter.type
  if (!isFitting) {
    const got = JSON.stringify(value)?.slice(0, 80)
    throw fault('BAD_REQUEST', `"${key}" must be of type ${parameter.type}, not ${got}`)
  }
}
