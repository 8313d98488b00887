import type { WorkspaceState } from '../workspace.ts'
import type { Phase } from './phase.ts'

/** Something that happened to a workspace. */
export type TimelineEntry =
  | {
      readonly is: 'phase'
      readonly at: Date
      readonly phase: Phase
      readonly outcome: 'running' | 'done' | 'failed'
      /** Undefined while it is running. */
      readonly durationMs: number | undefined
    }
  | {
      readonly is: 'state'
      readonly at: Date
      readonly status: WorkspaceState['is']
      readonly reason: string
    }
  | { readonly is: 'note'; readonly at: Date; readonly text: string }
