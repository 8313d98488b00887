import type { WireChange, WireSnapshot } from '../../../../api/event.ts'
import type { WireWorkspace } from '../../../../api/workspace.ts'
import { type Connection, follow } from '../server/follow.ts'
import { Store } from './store.ts'

/** Workspaces by name. */
export type Workspaces = ReadonlyMap<string, WireWorkspace>

/** All workspaces as last reported by the server; undefined until then. */
export const workspaces = new Store<Workspaces | undefined>(undefined)
/** State of the connection to the server. */
export const connection = new Store<Connection>({ is: 'opening' })

/** Keeps both stores up to date; returns a function that stops. */
export function followWorkspaces(): () => void {
  /** Batches changes that arrive together, so that starting a hundred workspaces redraws the list once. */
  let waiting: WireChange[] = []
  const show = (): void => {
    const next = new Map(workspaces.value)
    for (const change of waiting) apply(next, change)
    waiting = []
    workspaces.set(next)
  }
  return follow('/api/events', {
    onConnection: (now) => connection.set(now),
    onEvent({ name, data }) {
      if (name === 'snapshot') {
        waiting = []
        const { workspaces: all } = data as WireSnapshot
        workspaces.set(new Map(all.map((each) => [each.name, each])))
      } else if (name === 'workspace') {
        if (waiting.push(data as WireChange) === 1) setTimeout(show, 0)
      }
    },
  })
}

function apply(all: Map<string, WireWorkspace>, change: WireChange): void {
  if (change.type === 'deleted') all.delete(change.name)
  else all.set(change.workspace.name, change.workspace)
}
