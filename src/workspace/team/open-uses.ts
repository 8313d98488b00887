import { nameKey } from '../name.ts'
import type { Ownership } from '../ownership.ts'
import type { WorkspaceChange } from '../workspace.ts'

/** A token ends without a change. */
const REVIEW_EVERY_MS = 30_000

interface Use {
  readonly isAllowed: () => boolean
  readonly end: () => void
}

/** Connections and streams of token holders. Ends those that their holder may no longer have. */
export class OpenUses {
  readonly #uses = new Set<Use>()
  readonly #ownerships = new Map<string, Ownership | undefined>()
  readonly #timer = setInterval(() => this.review(), REVIEW_EVERY_MS).unref()

  /**
   * Follows a connection or stream until the returned function is called.
   *
   * @param end may be called several times
   */
  follow(isAllowed: () => boolean, end: () => void): () => void {
    const use = { isAllowed, end }
    this.#uses.add(use)
    return () => this.#uses.delete(use)
  }

  /** Ends what is no longer allowed. */
  readonly review = (): void => {
    for (const { isAllowed, end } of this.#uses) if (!isAllowed()) end()
  }

  /** Reviews after a change of to whom a workspace belongs or with whom it is shared. */
  readonly observe = (change: WorkspaceChange): void => {
    if (change.type === 'deleted') {
      this.#ownerships.delete(nameKey(change.name))
      return
    }
    const { name, ownership } = change.workspace
    const key = nameKey(name)
    const isSame = this.#ownerships.get(key) === ownership
    this.#ownerships.set(key, ownership)
    if (!isSame) this.review()
  }

  close(): void {
    clearInterval(this.#timer)
  }
}
