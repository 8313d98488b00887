import { type AgentTool, defineTool, type ToolParameter } from '../../../../lib/mcp/tool.ts'
import { DEFAULT_LINES, DEFAULT_WAIT_MS } from '../../../api/inside.ts'

/** How much an agent may do: look, work inside workspaces, or also create and delete workspaces. */
export const ACCESS_LEVELS = ['read', 'work', 'manage'] as const
type AccessLevel = (typeof ACCESS_LEVELS)[number]

const DEFAULT_TIMEOUT_S = 120
const MOST_TIMEOUT_S = 3_600

type Arguments = Readonly<Record<string, unknown>>

/** The request that produces a tool's answer. */
export type ToolRequest =
  { readonly is: 'workspaces' } | { readonly is: 'create'; readonly body: Arguments } | WorkspaceRequest

/** A request about one workspace. */
export type WorkspaceRequest = { readonly workspace: string } & (
  | { readonly is: 'workspace' | 'ports' | 'processes' | 'start' | 'stop' | 'suspend' | 'delete' }
  | { readonly is: 'log'; readonly lines: number }
  | { readonly is: 'wait_for_port'; readonly port: number; readonly timeoutMs: number }
  | { readonly is: 'run'; readonly body: Arguments }
  | { readonly is: 'run_code'; readonly body: Arguments }
  | { readonly is: 'start_process'; readonly body: Arguments }
  | { readonly is: 'process_output'; readonly id: string; readonly after: number }
  | { readonly is: 'process_input'; readonly id: string; readonly body: Arguments }
  | { readonly is: 'signal_process'; readonly id: string; readonly signal: string }
  | { readonly is: 'list_files' | 'read_file'; readonly path: string }
  | {
      readonly is: 'write_file'
      readonly path: string
      readonly content: string
      readonly mode: string | undefined
    }
  | { readonly is: 'edit_file'; readonly path: string; readonly from: string; readonly to: string }
  | { readonly is: 'remove_file'; readonly path: string; readonly isRecursive: boolean }
  | { readonly is: 'snapshot'; readonly snapshot: string }
  | { readonly is: 'fork'; readonly body: Arguments }
)

interface LeveledTool {
  readonly level: AccessLevel
  readonly tool: AgentTool<ToolRequest>
}

const text = (description: string): ToolParameter => ({ type: 'string', description })
const seconds = (otherwise: number, hint = ''): ToolParameter => ({
  type: 'integer',
  minimum: 1,
  maximum: MOST_TIMEOUT_S,
  description: `default ${otherwise}${hint}`,
})
const path = text('absolute, or relative to /workspace')
const id = text('id of a background process, from start_process or processes')
const program = {
  command: text("a line for the user's shell"),
  cwd: text('working directory; default /workspace'),
}

/**
 * Returns the tools that an agent gets.
 *
 * @param only the workspace to which the agent is limited: no tool then has a parameter for it, or shows others
 */
export function agentTools(level: AccessLevel, only: string | undefined): readonly AgentTool<ToolRequest>[] {
  const allowed = ACCESS_LEVELS.slice(0, ACCESS_LEVELS.indexOf(level) + 1)
  const all = [...insideTools(only), ...(only === undefined ? serverTools() : [])]
  return all.filter((each) => allowed.includes(each.level)).map(({ tool }) => tool)
}

/** Tools that are not about one workspace. */
function serverTools(): readonly LeveledTool[] {
  return [
    {
      level: 'read',
      tool: defineTool(
        {
          name: 'workspaces',
          description: 'List all workspaces with status, image and repository',
          parameters: {},
          required: [],
          isReadOnly: true,
        },
        () => ({ is: 'workspaces' }),
      ),
    },
    {
      level: 'manage',
      tool: defineTool(
        {
          name: 'create_workspace',
          description: 'Create a workspace and wait until it is running',
          parameters: {
            name: text('1 to 63 letters, digits and hyphens'),
            image: text("Docker image; default the server's"),
            repo: text('repository to clone into /workspace: owner/repo on GitHub, or a URL'),
            template: text('template of the server'),
          },
          required: ['name'],
          isReadOnly: false,
          isDestructive: false,
        },
        (body) => ({ is: 'create', body }),
      ),
    },
    {
      level: 'manage',
      tool: defineTool(
        {
          name: 'fork_workspace',
          description: 'Create workspaces with the files of another, to try several ways at once',
          parameters: {
            workspace: text('name of a workspace'),
            count: { type: 'integer', description: 'number of forks; default 1', minimum: 1, maximum: 64 },
            prefix: text('names are PREFIX-1, PREFIX-2 …; default NAME-fork'),
          },
          required: ['workspace'],
          isReadOnly: false,
          isDestructive: false,
        },
        ({ workspace, ...body }) => ({ is: 'fork', workspace: String(workspace), body }),
      ),
    },
  ]
}

/** Tools that are about one workspace. */
function insideTools(only: string | undefined): readonly LeveledTool[] {
  const define = (
    level: AccessLevel,
    settings: {
      readonly name: string
      readonly description: string
      readonly parameters?: Readonly<Record<string, ToolParameter>>
      readonly required?: readonly string[]
      readonly isDestructive?: boolean
    },
    request: (args: Arguments, workspace: string) => WorkspaceRequest,
  ): LeveledTool => ({
    level,
    tool: defineTool(
      {
        name: settings.name,
        description: settings.description,
        parameters: {
          ...(only === undefined && { workspace: text('name of a workspace') }),
          ...settings.parameters,
        },
        required: [...(only === undefined ? ['workspace'] : []), ...(settings.required ?? [])],
        isReadOnly: level === 'read',
        ...(level !== 'read' && { isDestructive: settings.isDestructive ?? false }),
      },
      ({ workspace, ...args }) => request(args, only ?? String(workspace)),
    ),
  })
  const plain = (
    level: AccessLevel,
    is: (WorkspaceRequest & {
      readonly is: 'workspace' | 'ports' | 'processes' | 'start' | 'stop' | 'suspend' | 'delete'
    })['is'],
    name: string,
    description: string,
  ) =>
    define(level, { name, description, isDestructive: is === 'delete' }, (_args, workspace) => ({
      is,
      workspace,
    }))
  return [
    plain(
      'read',
      'workspace',
      'workspace',
      'Show one workspace: status and its reason, image, repository, history',
    ),
    plain('read', 'ports', 'ports', 'List TCP ports on which programs listen'),
    define(
      'read',
      {
        name: 'wait_for_port',
        description: 'Wait until a program listens on a TCP port, such as a server that was just started',
        parameters: {
          port: { type: 'integer', minimum: 1, maximum: 65_535, description: 'TCP port' },
          timeoutSeconds: seconds(DEFAULT_WAIT_MS / 1_000),
        },
        required: ['port'],
      },
      ({ port, timeoutSeconds }, workspace) => ({
        is: 'wait_for_port',
        workspace,
        port: Number(port),
        timeoutMs: timeoutSeconds === undefined ? DEFAULT_WAIT_MS : 1_000 * Number(timeoutSeconds),
      }),
    ),
    plain('read', 'processes', 'processes', 'List background processes with status and exit status'),
    define(
      'read',
      {
        name: 'log',
        description: "Show the last lines of the container's log or the machine's console",
        parameters: {
          lines: { type: 'integer', minimum: 1, maximum: 1000, description: `default ${DEFAULT_LINES}` },
        },
      },
      ({ lines }, workspace) => ({ is: 'log', workspace, lines: Number(lines ?? DEFAULT_LINES) }),
    ),
    define(
      'read',
      { name: 'list_files', description: 'List a directory', parameters: { path }, required: ['path'] },
      (args, workspace) => ({ is: 'list_files', workspace, path: String(args['path']) }),
    ),
    define(
      'read',
      {
        name: 'read_file',
        description: 'Show a text file; offset is the number of lines to skip',
        parameters: { path },
        required: ['path'],
      },
      (args, workspace) => ({ is: 'read_file', workspace, path: String(args['path']) }),
    ),
    define(
      'read',
      {
        name: 'process_output',
        description: 'Show the output of a background process after a position',
        parameters: { id, after: { type: 'integer', minimum: 0, description: 'next of an earlier answer' } },
        required: ['id'],
      },
      ({ id: of, after }, workspace) => ({
        is: 'process_output',
        workspace,
        id: String(of),
        after: Number(after ?? 0),
      }),
    ),
    define(
      'work',
      {
        name: 'run',
        description: 'Run a command and show its exit status and the end of its output',
        parameters: {
          ...program,
          stdin: text('text for its standard input'),
          timeoutSeconds: seconds(DEFAULT_TIMEOUT_S, '; use start_process for servers and long builds'),
        },
        required: ['command'],
        isDestructive: true,
      },
      ({ timeoutSeconds, ...body }, workspace) => ({
        is: 'run',
        workspace,
        body: { ...body, timeout_ms: 1_000 * Number(timeoutSeconds ?? DEFAULT_TIMEOUT_S) },
      }),
    ),
    define(
      'work',
      {
        name: 'run_code',
        description:
          'Run code in an interpreter that keeps its variables between calls; shows output, the value of the last expression and errors',
        parameters: {
          code: text('await is permitted; display(value) shows more values'),
          language: text('python (default) or javascript'),
          timeoutSeconds: seconds(DEFAULT_TIMEOUT_S),
        },
        required: ['code'],
        isDestructive: true,
      },
      ({ timeoutSeconds, ...body }, workspace) => ({
        is: 'run_code',
        workspace,
        body: { ...body, timeout_ms: 1_000 * Number(timeoutSeconds ?? DEFAULT_TIMEOUT_S) },
      }),
    ),
    define(
      'work',
      {
        name: 'start_process',
        description: 'Start a command in the background; returns its id',
        parameters: program,
        required: ['command'],
        isDestructive: true,
      },
      (body, workspace) => ({ is: 'start_process', workspace, body }),
    ),
    define(
      'work',
      {
        name: 'process_input',
        description: 'Write to the standard input of a background process',
        parameters: {
          id,
          text: text('include the line end'),
          end: { type: 'boolean', description: 'close its input' },
        },
        required: ['id', 'text'],
      },
      ({ id: of, ...body }, workspace) => ({ is: 'process_input', workspace, id: String(of), body }),
    ),
    define(
      'work',
      {
        name: 'signal_process',
        description: 'Send a signal to a background process and its children',
        parameters: { id, signal: text('SIGTERM (default), SIGINT, SIGKILL or SIGHUP') },
        required: ['id'],
        isDestructive: true,
      },
      ({ id: of, signal }, workspace) => ({
        is: 'signal_process',
        workspace,
        id: String(of),
        signal: textOr(signal, 'SIGTERM'),
      }),
    ),
    define(
      'work',
      {
        name: 'write_file',
        description: 'Write a text file as a whole; creates missing directories',
        parameters: {
          path,
          content: text('the new content'),
          mode: text('permissions in octal, such as 755'),
        },
        required: ['path'],
        isDestructive: true,
      },
      (args, workspace) => ({
        is: 'write_file',
        workspace,
        path: String(args['path']),
        content: textOr(args['content'], ''),
        mode: typeof args['mode'] === 'string' ? args['mode'] : undefined,
      }),
    ),
    define(
      'work',
      {
        name: 'edit_file',
        description: 'Replace a text that occurs exactly once in a file',
        parameters: {
          path,
          from: text('the text to replace, with enough context to be unique'),
          to: text('the new text'),
        },
        required: ['path', 'from'],
        isDestructive: true,
      },
      (args, workspace) => ({
        is: 'edit_file',
        workspace,
        path: String(args['path']),
        from: String(args['from']),
        to: textOr(args['to'], ''),
      }),
    ),
    define(
      'work',
      {
        name: 'remove_file',
        description: 'Remove a file or directory',
        parameters: { path, recursive: { type: 'boolean', description: 'also a directory with content' } },
        required: ['path'],
        isDestructive: true,
      },
      (args, workspace) => ({
        is: 'remove_file',
        workspace,
        path: String(args['path']),
        isRecursive: args['recursive'] === true,
      }),
    ),
    plain('work', 'start', 'start_workspace', 'Start a stopped workspace, or resume a suspended one'),
    plain('work', 'stop', 'stop_workspace', 'Stop a workspace; its files stay'),
    plain(
      'work',
      'suspend',
      'suspend_workspace',
      'Save the memory of a virtual machine and stop it; starting it continues its programs',
    ),
    define(
      'manage',
      {
        name: 'snapshot_workspace',
        description: 'Copy the disk of a stopped virtual machine',
        parameters: { snapshot: text('name of the snapshot') },
        required: ['snapshot'],
      },
      ({ snapshot }, workspace) => ({ is: 'snapshot', workspace, snapshot: String(snapshot) }),
    ),
    plain('manage', 'delete', 'delete_workspace', 'Delete a workspace with all its files'),
  ]
}

/** Returns an argument, whose type has been checked, or the default of a missing one. */
function textOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise
}
