import { Type } from '../../lib/schema/type.ts'
import type { TableChange } from '../lifecycle/table.ts'
import type { Workspace } from '../workspace.ts'
import { type WireWorkspace, workspaceToWire } from './workspace.ts'

/** The data of the event `snapshot`. */
export const snapshotSchema = Type.Object({ workspaces: Type.Array(Type.Ref('Workspace')) })
/** The data of the event `workspace`. */
export const changeSchema = Type.Union([
  Type.Object({ type: Type.Enum(['created', 'changed']), workspace: Type.Ref('Workspace') }),
  Type.Object({ type: Type.Literal('deleted'), name: Type.String() }),
])

export interface WireSnapshot {
  readonly workspaces: readonly WireWorkspace[]
}
export type WireChange =
  | { readonly type: 'created' | 'changed'; readonly workspace: WireWorkspace }
  | { readonly type: 'deleted'; readonly name: string }

export function snapshotToWire(workspaces: readonly Workspace[]): WireSnapshot {
  return { workspaces: workspaces.map(workspaceToWire) }
}

export function changeToWire(change: TableChange): WireChange {
  if (change.type === 'deleted') return { type: 'deleted', name: change.name }
  return { type: change.type, workspace: workspaceToWire(change.workspace) }
}
