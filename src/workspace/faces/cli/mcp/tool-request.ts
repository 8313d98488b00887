import type { AgentTool, ToolParameter } from '../../../../lib/mcp/tool.ts'

/** How much an agent may do: look, work inside workspaces, or also create and delete workspaces. */
export const ACCESS_LEVELS = ['read', 'work', 'manage'] as const
/** A level of access. */
export type AccessLevel = (typeof ACCESS_LEVELS)[number]

/** Checked arguments of a tool. */
export type Arguments = Readonly<Record<string, unknown>>

/** The request that produces a tool's answer. */
export type ToolRequest =
  { readonly is: 'workspaces' } | { readonly is: 'create'; readonly body: Arguments } | WorkspaceRequest

/** Requests that need nothing but the workspace. */
export type PlainRequest =
  'workspace' | 'ports' | 'processes' | 'checkpoints' | 'start' | 'stop' | 'suspend' | 'delete'

/** A request about one workspace. */
export type WorkspaceRequest = { readonly workspace: string } & (
  | { readonly is: PlainRequest }
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
  | { readonly is: 'set'; readonly body: Arguments }
  | { readonly is: 'snapshot'; readonly snapshot: string }
  | { readonly is: 'checkpoint'; readonly body: Arguments }
  | { readonly is: 'rewind'; readonly to: string }
  | { readonly is: 'fork'; readonly body: Arguments }
)

/** A tool, and the access that an agent needs for it. */
export interface LeveledTool {
  readonly level: AccessLevel
  readonly tool: AgentTool<ToolRequest>
}

/** A parameter that is a text. */
export const text = (description: string): ToolParameter => ({ type: 'string', description })
