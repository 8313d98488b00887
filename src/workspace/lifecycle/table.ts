import { isDeepStrictEqual } from 'node:util'
import { fault } from '../errors.ts'
import type { Workspace, WorkspaceChange } from '../workspace.ts'
import { nameKey } from '../name.ts'

/** The server's view of its workspaces: the only owner of their states, served from memory. */
export class WorkspaceTable {
  readonly #entries = new Map<string, Workspace>()
  readonly #listeners: ((change: WorkspaceChange) => void)[] = []
  readonly #complete: (workspace: Workspace) => Workspace

  /** @param complete adds the settings that a workspace's backend does not know */
  constructor(complete: (workspace: Workspace) => Workspace = (workspace) => workspace) {
    this.#complete = complete
  }

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

  set(given: Workspace): Workspace {
    const workspace = this.#complete(given)
    const before = this.find(workspace.name)
    this.#entries.set(nameKey(workspace.name), workspace)
    if (before === undefined) this.#notify({ type: 'created', workspace })
    else if (!isDeepStrictEqual(before, workspace)) this.#notify({ type: 'changed', workspace })
    return workspace
  }

  remove(name: string): void {
    const before = this.find(name)
    if (before === undefined) return
    this.#entries.delete(nameKey(name))
    this.#notify({ type: 'deleted', name: before.name })
  }

  /**
   * Calls the listener for every change from now on. A write that leaves a workspace unchanged is not
   * reported.
   */
  onChange(listener: (change: WorkspaceChange) => void): void {
    this.#listeners.push(listener)
  }

  /**
   * Reserves a name for a workspace about to be created, regardless of case.
   *
   * @throws WORKSPACE_ALREADY_EXISTS when it is taken
   */
  reserve(workspace: Workspace): void {
    const existing = this.find(workspace.name)
    if (existing !== undefined) {
      throw fault(
        'WORKSPACE_ALREADY_EXISTS',
        `workspace "${existing.name}" already exists; connect with: workspace ssh ${existing.name}`,
      )
    }
    this.set(workspace)
  }

  /**
   * Applies a backend's report on one workspace. A workspace that the backend no longer has stays visible as
   * `error` until it is deleted, because its files may still exist. A workspace in state `starting` is left
   * to the pending operation.
   */
  reconcile(name: string, reported: Workspace | undefined): void {
    const existing = this.find(name)
    if (existing?.state.is === 'starting') return
    if (reported !== undefined) this.set(reported)
    else if (existing !== undefined) {
      const message = `the ${existing.backend} backend no longer has this workspace; delete it (keep_volume=true keeps its files for the next workspace of that name)`
      this.set({ ...existing, ipAddress: '', state: { is: 'error', message } })
    }
  }

  #notify(change: WorkspaceChange): void {
    for (const listener of this.#listeners) listener(change)
  }
}
