import { defineFaults } from '../../../../lib/errors/fault.ts'
import { type AgentTool, defineTool, type ToolParameter } from '../../../../lib/mcp/tool.ts'

const fault = defineFaults({ INVALID_ARGUMENT: 'invalid' })

const DEFAULT_LINES = 200
const MOST_LINES = 2_000

/** The request that produces a tool's answer. */
export type ToolRequest =
  | { readonly is: 'status'; readonly query: URLSearchParams }
  | { readonly is: 'why'; readonly name: string }
  | {
      readonly is: 'logs'
      readonly process: string | undefined
      readonly query: URLSearchParams
      readonly lines: number
    }
  | { readonly is: 'requests'; readonly query: URLSearchParams }
  | {
      readonly is: 'start' | 'stop' | 'restart'
      readonly of: 'processes' | 'groups'
      readonly name: string
    }

const name: ToolParameter = { type: 'string', description: 'name of a process, from status' }
const group: ToolParameter = { type: 'string', description: 'name of a group of processes, from status' }
const status = (description: string): ToolParameter => ({
  type: 'integer',
  minimum: 100,
  maximum: 999,
  description,
})

/** All tools of the supervisor. */
export const agentTools: readonly AgentTool<ToolRequest>[] = [
  defineTool(
    {
      name: 'status',
      description: 'List the processes with status, health, restarts and the reason of each status',
      parameters: { group: { ...group, description: 'only processes of this group' } },
      required: [],
      isReadOnly: true,
    },
    (args) => ({ is: 'status', query: queryOf({ group: args['group'] }) }),
  ),
  defineTool(
    {
      name: 'why',
      description:
        'Explain why a process is in its state: exit, failed checks, dependencies, port, last output, advice',
      parameters: { name },
      required: ['name'],
      isReadOnly: true,
    },
    (args) => ({ is: 'why', name: String(args['name']) }),
  ),
  defineTool(
    {
      name: 'logs',
      description: 'Show the newest lines of output, oldest first; offset skips the newest ones',
      parameters: {
        process: { type: 'string', description: 'names of processes, separated by commas; default all' },
        group: { ...group, description: 'also processes of this group' },
        grep: { type: 'string', description: 'only lines that contain this text' },
        regex: { type: 'boolean', description: 'grep is an RE2 regular expression; default false' },
        lines: {
          type: 'integer',
          minimum: 1,
          maximum: MOST_LINES,
          description: `maximum number of lines; default ${DEFAULT_LINES}`,
        },
      },
      required: [],
      isReadOnly: true,
    },
    ({ process, group: of, grep, regex, lines }) => ({
      is: 'logs',
      process: typeof process === 'string' ? process : undefined,
      query: queryOf({ process, group: of, pattern: grep, regex }),
      lines: Number(lines ?? DEFAULT_LINES),
    }),
  ),
  defineTool(
    {
      name: 'requests',
      description: 'List requests that went through the proxy, newest first',
      parameters: {
        subdomain: { type: 'string', description: 'only requests to this subdomain' },
        method: { type: 'string', description: 'only requests with this method' },
        minStatus: status('only responses with at least this status'),
        maxStatus: status('only responses with at most this status'),
      },
      required: [],
      isReadOnly: true,
    },
    ({ subdomain, method, minStatus, maxStatus }) => ({
      is: 'requests',
      query: queryOf({ subdomain, method, min_status: minStatus, max_status: maxStatus }),
    }),
  ),
  action('start', 'Start a process, or all of a group, and their dependencies'),
  action('stop', 'Stop a process, or all of a group, and everything they started'),
  action('restart', 'Stop a process, or all of a group, and start them again'),
]

function action(is: 'start' | 'stop' | 'restart', description: string): AgentTool<ToolRequest> {
  return defineTool(
    { name: is, description, parameters: { name, group }, required: [], isReadOnly: false },
    (args) => {
      const [one, all] = [args['name'], args['group']].map((each) => (typeof each === 'string' ? each : ''))
      if (!one === !all)
        throw fault('INVALID_ARGUMENT', 'exactly one of the parameters "name" and "group" is required')
      return one ? { is, of: 'processes', name: one } : { is, of: 'groups', name: all ?? '' }
    },
  )
}

function queryOf(parameters: Readonly<Record<string, unknown>>): URLSearchParams {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined)
  return new URLSearchParams(given.map(([key, value]): [string, string] => [key, String(value)]))
}
