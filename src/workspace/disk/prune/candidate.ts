import type { MeasuredPart } from '../../backend/backend.ts'
import type { Bytes } from '../../bytes.ts'
import type { BackendName } from '../../backend-name.ts'

/** Kinds of items that can be pruned. */
export type ItemKind = 'instance' | 'image' | 'tmp' | 'snapshot' | 'checkpoint' | 'upper' | 'log' | 'trash'

/** Outcome of a removal. `kept`: a reason to keep it has come up in the meantime. */
export type Removal =
  | { readonly is: 'deleted'; readonly freed?: Bytes }
  | { readonly is: 'truncated'; readonly freed: Bytes; readonly note?: string }
  | { readonly is: 'kept'; readonly reason: string }

/** An item that can be deleted, as of the last inspection. */
export interface Candidate {
  readonly kind: ItemKind
  readonly name: string
  readonly path: string
  readonly backend: BackendName
  /** Distinguishes it from a later item of the same name. */
  readonly identity: string
  /** Why it can be deleted. */
  readonly reason: string
  /** The files that are deleted with it. */
  readonly parts: readonly MeasuredPart[]
  /** Set when the space freed differs from the space used. */
  readonly freed?: Bytes
  /** Time of the last change: when not everything has to be deleted, the oldest items are deleted first. */
  readonly changedAt: Date
  /**
   * Inspects the item again under its lock, and removes it if it still qualifies.
   *
   * @throws the error that prevents the removal
   */
  readonly remove: (onSeen: (removed: number) => void) => Promise<Removal>
}

/** An item that was inspected and is kept. */
export interface Skipped {
  readonly kind: string
  readonly name: string
  readonly path: string
  readonly reason: string
}

/** Result of searching one scope. */
export interface Findings {
  readonly candidates: readonly Candidate[]
  readonly skipped: readonly Skipped[]
  readonly notes: readonly string[]
}

/** Returns the key of an item among all items; its identity distinguishes a replacement. */
export function keyOf({
  kind,
  backend,
  path,
  name,
}: Pick<Candidate, 'kind' | 'backend' | 'path' | 'name'>): string {
  return JSON.stringify([kind, backend, path, name])
}
