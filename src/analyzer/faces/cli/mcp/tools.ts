import { type AgentTool, defineTool, type ToolParameter } from '../../../../lib/mcp/tool.ts'
import { IMPACT_ROWS } from '../../../choices.ts'
import { queries } from '../../../api/queries.ts'

/** The server request or command that produces a tool's answer. */
export type ToolRequest =
  | {
      readonly is: 'get' | 'post'
      readonly path: string
      readonly query: URLSearchParams
      readonly body?: Readonly<Record<string, unknown>>
      /** Whether the query takes `page` and `size`. */
      readonly isPaged: boolean
    }
  | { readonly is: 'explore'; readonly name: string }
  /** A command that reads files of the project, and runs in a separate process. */
  | { readonly is: 'command'; readonly argv: readonly string[] }

/** All tools: one per query, and those for the whole project. */
export const agentTools: readonly AgentTool<ToolRequest>[] = [
  ...queries.map(([name, { path, summary, about, part, parameters, required = [] }]) => {
    const subjects = [about, part].filter((subject) => subject !== undefined)
    const keys = subjects.map(({ key }) => key)
    return toolOf(
      name,
      summary,
      {
        ...Object.fromEntries(subjects.map(({ key, description }) => [key, text(description)])),
        ...parameters,
      },
      [...keys, ...required],
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
  toolOf(
    'rules',
    'Check the architecture rules in a file of the project and list violations that are not in its baseline',
    {
      rules: text('rules file, relative to the project’s root; default analyzer-rules.yml'),
      baseline: text('file with known violations; default beside the rules file'),
      all: { type: 'boolean', description: 'list violations in the baseline too; default false' },
    },
    [],
    ({ rules, baseline, all }) => ({
      is: 'command',
      argv: [
        'rules',
        ...Object.entries({ rules, baseline }).flatMap(([key, value]) =>
          typeof value === 'string' ? [`--${key}=${value}`] : [],
        ),
        ...(all === true ? ['--all'] : []),
      ],
    }),
  ),
  toolOf(
    'impact',
    'Find entry points, tests and methods that can notice changes since a git revision or an older build, each with a shortest path',
    {
      since: text('git revision to compare the source files with'),
      against: text('jar or folder of an older build instead; relative to the project’s root'),
      of: {
        type: 'string',
        enum: IMPACT_ROWS,
        description: 'list entry points and tests, or methods; default entry',
      },
    },
    [],
    ({ since, against, of }) => ({
      is: 'command',
      argv: [
        'impact',
        ...Object.entries({ since, against, of }).flatMap(([key, value]) =>
          typeof value === 'string' ? [`--${key}=${value}`] : [],
        ),
      ],
    }),
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
      is: 'command',
      argv: ['diff', ...(all === true ? ['--all'] : []), '--', String(old), String(newer)],
    }),
  ),
]

function plain(is: 'get' | 'post', path: string) {
  return { is, path, query: new URLSearchParams(), isPaged: false } as const
}

function text(description: string): ToolParameter {
  return { type: 'string', description }
}

function toolOf(
  name: string,
  description: string,
  parameters: Readonly<Record<string, ToolParameter>>,
  required: readonly string[],
  request: AgentTool<ToolRequest>['request'],
): AgentTool<ToolRequest> {
  return defineTool({ name, description, parameters, required, isReadOnly: name !== 'refresh' }, request)
}
