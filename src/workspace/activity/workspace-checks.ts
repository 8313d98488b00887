import { nameKey } from '../name.ts'
import type { Workspace } from '../workspace.ts'

/** Checks of workspaces, at most one of each at a time: one that takes long delays no other. */
export class WorkspaceChecks {
  readonly #inProgress = new Map<string, Promise<void>>()

  /** Checks workspaces, or joins the checks of them that are already in progress. */
  async run(workspaces: readonly Workspace[], check: (workspace: Workspace) => Promise<void>): Promise<void> {
    const checks = workspaces.map((workspace) => {
      const key = nameKey(workspace.name)
      const begun = this.#inProgress.get(key) ?? check(workspace).finally(() => this.#inProgress.delete(key))
      this.#inProgress.set(key, begun)
      return begun
    })
    await Promise.all(checks)
  }

  /** Resolves when the checks in progress have ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#inProgress.values())
  }
}
