import { Type } from '../../lib/schema/type.ts'
import type { Workspace, WorkspaceChange } from '../workspace.ts'
import type { EncodeWorkspace, WireWorkspace } from './workspace.ts'

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

/** Encodes the list of workspaces. */
export function snapshotToWire(workspaces: readonly Workspace[], encode: EncodeWorkspace): WireSnapshot {
  return { workspaces: workspaces.map(encode) }
}

/** Encodes a workspace change. */
export function changeToWire(change: WorkspaceChange, encode: EncodeWorkspace): WireChange {
  if (change.type === 'deleted') return { type: 'deleted', name: change.name }
  const { type, workspace } = change
  return { type, workspace: encode(workspace) }
}
