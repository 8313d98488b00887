import { defineTool, type ToolParameter } from '../../../../lib/mcp/tool.ts'
import { EXPIRE_ACTIONS } from '../../../workspace-settings.ts'
import { DEFAULT_LINES, DEFAULT_WAIT_MS } from '../../../api/inside.ts'
import {
  type AccessLevel,
  type Arguments,
  type LeveledTool,
  type PlainRequest,
  text,
  type WorkspaceRequest,
} from './tool-request.ts'

const DEFAULT_TIMEOUT_S = 120
const MOST_TIMEOUT_S = 3_600

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

const SETTINGS: Readonly<Record<string, ToolParameter>> = {
  ttl_s: { type: 'integer', description: 'seconds from now until it expires; 0 for never', minimum: 0 },
  expire_action: { ...text('what happens when it expires; default stop'), enum: EXPIRE_ACTIONS },
  stop_after: text('idle time after which it is stopped, such as 90m; 0 for never'),
  suspend_after: text('idle time after which it is suspended, such as 15m; 0 for never'),
  wake: { type: 'boolean', description: 'whether connections start it' },
  start_at: text('days and a time at which it is started, such as "Mon-Fri 08:00", or never'),
  stop_at: text('days and a time at which it is stopped, such as "Mon-Fri 19:00", or never'),
  time_zone: text('IANA time zone of both, such as Europe/Berlin'),
  checkpoint_every: text('time between automatic checkpoints, such as 1h; 0 for never'),
}

/** Tools that are about one workspace. */
export function insideTools(only: string | undefined): readonly LeveledTool[] {
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
  const plain = (level: AccessLevel, is: PlainRequest, name: string, description: string) =>
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
    plain(
      'read',
      'checkpoints',
      'checkpoints',
      'List checkpoints of the files, which rewind_workspace puts back',
    ),
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
      'work',
      {
        name: 'checkpoint_workspace',
        description: 'Keep the current files before a risky change; returns the id of the checkpoint',
        parameters: { label: text('text to store with it') },
      },
      (body, workspace) => ({ is: 'checkpoint', workspace, body }),
    ),
    define(
      'work',
      {
        name: 'rewind_workspace',
        description:
          'Put back the files of a checkpoint and restart the workspace; returns the checkpoint that undoes it',
        parameters: {
          to: text('id, or a duration such as 10m for the newest one that is at least that old'),
        },
        required: ['to'],
        isDestructive: true,
      },
      ({ to }, workspace) => ({ is: 'rewind', workspace, to: String(to) }),
    ),
    define(
      'manage',
      {
        name: 'set_workspace',
        description: 'Change when a workspace stops, starts and expires without a request',
        parameters: SETTINGS,
        // It may be deleted when it expires.
        isDestructive: true,
      },
      (args, workspace) => ({ is: 'set', workspace, body: settingsOf(args) }),
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

/** Returns the merge patch that changes settings. */
function settingsOf({
  start_at: start,
  stop_at: stop,
  checkpoint_every: every,
  ...args
}: Arguments): Arguments {
  const { stop_after: stopAfter, suspend_after: suspendAfter, time_zone: timeZone, ...others } = args
  return {
    ...others,
    idle: given({ stop_after: stopAfter, suspend_after: suspendAfter }),
    schedule: given({ start, stop, time_zone: timeZone }),
    checkpoints: given({ every }),
  }
}

/** Returns fields, or undefined if none is set. */
function given(fields: Arguments): Arguments | undefined {
  return Object.values(fields).some((value) => value !== undefined) ? fields : undefined
}

/** Returns an argument, whose type has been checked, or the default of a missing one. */
function textOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise
}
