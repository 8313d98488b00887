import { Type } from '../../lib/schema/type.ts'
import type { Explanation } from '../timeline/timeline.ts'
import type { Workspace, WorkspaceChange } from '../workspace.ts'
import { type WireWorkspace, workspaceToWire } from './workspace.ts'

/** Data of the event `snapshot`. */
export const snapshotSchema = Type.Object({ workspaces: Type.Array(Type.Ref('Workspace')) })
/** Data of the event `workspace`. */
export const changeSchema = Type.Union([
  Type.Object({ type: Type.Enum(['created', 'changed']), workspace: Type.Ref('Workspace') }),
  Type.Object({ type: Type.Literal('deleted'), name: Type.String() }),
])

/** All workspaces, as the first event of the stream. */
export interface WireSnapshot {
  readonly workspaces: readonly WireWorkspace[]
}
/** A workspace change as clients see it. */
export type WireChange =
  | { readonly type: 'created' | 'changed'; readonly workspace: WireWorkspace }
  | { readonly type: 'deleted'; readonly name: string }

/** Explains why a workspace is not running; undefined while it is. */
type Explain = (workspace: Workspace) => Explanation | undefined

/** Encodes the list of workspaces. */
export function snapshotToWire(workspaces: readonly Workspace[], explain: Explain): WireSnapshot {
  return { workspaces: workspaces.map((each) => workspaceToWire(each, explain(each))) }
}

/** Encodes a workspace change. */
export function changeToWire(change: WorkspaceChange, explain: Explain): WireChange {
  if (change.type === 'deleted') return { type: 'deleted', name: change.name }
  const { type, workspace } = change
  return { type, workspace: workspaceToWire(workspace, explain(workspace)) }
}
