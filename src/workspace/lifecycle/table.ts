import { isDeepStrictEqual } from 'node:util'
import { fault } from '../errors.ts'
import type { Workspace } from '../workspace.ts'
import { nameKey } from '../name.ts'

/** What became of a workspace. */
export type TableChange =
  | { readonly type: 'created' | 'changed'; readonly workspace: Workspace }
  | { readonly type: 'deleted'; readonly name: string }

/** The server's picture of its workspaces: the one owner of their states, answered from memory. */
export class WorkspaceTable {
  readonly #entries = new Map<string, Workspace>()
  readonly #listeners: ((change: TableChange) => void)[] = []

  /** All workspaces, oldest first. */
  list(): readonly Workspace[] {
    return [...this.#entries.values()].toSorted(
      (a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.name < b.name ? -1 : 1),
    )
  }

  find(name: string): Workspace | undefined {
    return this.#entries.get(nameKey(name))
  }

  get(name: string): Workspace {
    const workspace = this.find(name)
    if (workspace === undefined) throw fault('WORKSPACE_NOT_FOUND', `workspace "${name}" does not exist`)
    return workspace
  }

  set(workspace: Workspace): Workspace {
    const before = this.find(workspace.name)
    this.#entries.set(nameKey(workspace.name), workspace)
    if (before === undefined) this.#tell({ type: 'created', workspace })
    else if (!isDeepStrictEqual(before, workspace)) this.#tell({ type: 'changed', workspace })
    return workspace
  }

  remove(name: string): void {
    const before = this.find(name)
    if (before === undefined) return
    this.#entries.delete(nameKey(name))
    this.#tell({ type: 'deleted', name: before.name })
  }

  /** Tells of every change from now on, and of nothing that leaves a workspace as it was. */
  onChange(listener: (change: TableChange) => void): void {
    this.#listeners.push(listener)
  }

  /** Takes a name for a workspace about to be made. @throws WORKSPACE_ALREADY_EXISTS, whatever the letters' case */
  reserve(workspace: Workspace): void {
    const existing = this.find(workspace.name)
    if (existing !== undefined) {
      throw fault(
        'WORKSPACE_ALREADY_EXISTS',
        `workspace "${existing.name}" exists already; enter it with: workspace ssh ${existing.name}`,
      )
    }
    this.set(workspace)
  }

  /**
   * Takes over what a backend reports about one workspace. One that the backend no longer holds stays visible as
   * `error` until it is deleted: its files may still be there. One that is being made is left to its maker.
   */
  reconcile(name: string, reported: Workspace | undefined): void {
    const known = this.find(name)
    if (known?.state.is === 'starting') return
    if (reported !== undefined) this.set(reported)
    else if (known !== undefined) {
      const message = `the ${known.backend} backend no longer has it; delete it (keep_volume=true keeps its files for the next of that name)`
      this.set({ ...known, ipAddress: '', state: { is: 'error', message } })
    }
  }

  #tell(change: TableChange): void {
    for (const listener of this.#listeners) listener(change)
  }
}
