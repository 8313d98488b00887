import { Type } from '../../lib/schema/type.ts'
import type { Static } from 'typebox'
import type { Session } from '../session/session.ts'

/** A list of tmux sessions. */
export const sessionListSchema = Type.Object({
  sessions: Type.Array(
    Type.Object({
      name: Type.String(),
      workspace_name: Type.String(),
      created_at: Type.String({ format: 'date-time' }),
      attached: Type.Boolean(),
      window_count: Type.Integer(),
    }),
  ),
})
/** A tmux session as clients see it. */
export type WireSession = Static<typeof sessionListSchema>['sessions'][number]

/** Encodes a tmux session. */
export function sessionToWire(session: Session): WireSession {
  return {
    name: session.name,
    workspace_name: session.workspaceName,
    created_at: session.createdAt.toISOString(),
    attached: session.isAttached,
    window_count: session.windowCount,
  }
}
