import { messageOf } from '../../lib/errors/message.ts'
import type { ProcessTable } from '../program/process-table.ts'
import type { SessionDirectory } from '../session/session-directory.ts'
import type { Workspace } from '../workspace.ts'
import type { ActivityTable } from './activity-table.ts'

/** Determines who uses a workspace, for actions that wait until nobody does. */
export interface UseSources {
  readonly activity: ActivityTable
  readonly sessions: Pick<SessionDirectory, 'isAttached'>
  readonly processes: Pick<ProcessTable, 'isRunningIn'>
}

/** Describes a use that the server knows of; undefined if there is none. */
export function useOf({ activity, processes }: UseSources, name: string): string | undefined {
  if (activity.isInUse(name)) return 'somebody is connected'
  if (processes.isRunningIn(name)) return 'a program runs that was started over the API'
  return undefined
}

/** Describes who is attached inside a workspace, or why that is unknown; undefined if nobody is. */
export async function attachmentOf(
  { sessions }: UseSources,
  { name, state }: Workspace,
): Promise<string | undefined> {
  if (state.is !== 'running') return undefined
  try {
    return (await sessions.isAttached(name)) ? 'somebody is attached to a session' : undefined
  } catch (error) {
    return `its sessions cannot be listed: ${messageOf(error)}`
  }
}
