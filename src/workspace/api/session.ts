import { Type } from '../../lib/schema/type.ts'
import type { Static } from 'typebox'
import type { Session } from '../session/session.ts'

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
export type WireSession = Static<typeof sessionListSchema>['sessions'][number]

/** A tmux session as clients see it. */
export function sessionToWire(session: Session): WireSession {
  return {
    name: session.name,
    workspace_name: session.workspaceName,
    created_at: session.createdAt.toISOString(),
    attached: session.isAttached,
    window_count: session.windowCount,
  }
}
