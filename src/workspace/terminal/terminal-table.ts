import { fault } from '../errors.ts'
import { nameKey } from '../name.ts'
import type { WorkspaceTable } from '../lifecycle/table.ts'

/** Each terminal costs a program inside and a stream of the engine. */
const MAX_PER_WORKSPACE = 32

/** A slot for a terminal, held from before its program starts until it is closed. */
export interface TerminalSlot {
  /** Resolves when the workspace stops running. */
  readonly workspaceEnded: Promise<void>
  readonly release: () => void
}

/** Counts open terminals per workspace, to limit them and to close them with their workspace. */
export class TerminalTable {
  readonly #slots = new Map<string, Set<() => void>>()

  constructor(table: WorkspaceTable) {
    table.onChange((change) => {
      const isRunning = change.type !== 'deleted' && change.workspace.state.is === 'running'
      if (isRunning) return
      const key = nameKey(change.type === 'deleted' ? change.name : change.workspace.name)
      for (const end of this.#slots.get(key) ?? []) end()
    })
  }

  /** Reserves a slot. @throws TOO_MANY_TERMINALS when the workspace has none left */
  reserve(workspaceName: string): TerminalSlot {
    const key = nameKey(workspaceName)
    const slots = this.#slots.get(key) ?? new Set()
    if (slots.size >= MAX_PER_WORKSPACE)
      throw fault(
        'TOO_MANY_TERMINALS',
        `workspace "${workspaceName}" has ${MAX_PER_WORKSPACE} open terminals, which is the limit; close one`,
      )
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#slots.set(key, slots.add(resolve))
    const release = (): void => {
      slots.delete(resolve)
      if (slots.size === 0 && this.#slots.get(key) === slots) this.#slots.delete(key)
    }
    return { workspaceEnded: promise, release }
  }
}
