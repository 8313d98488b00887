import type { MeasuredPart } from '../../backend/backend.ts'
import type { Bytes } from '../../bytes.ts'
import type { BackendName } from '../../backend-name.ts'

export type ItemKind = 'instance' | 'image' | 'tmp' | 'snapshot' | 'upper' | 'log' | 'trash'

/** How the removal of something ended. `kept`: by now something speaks against it. */
export type Removal =
  | { readonly is: 'deleted'; readonly freed?: Bytes }
  | { readonly is: 'truncated'; readonly freed: Bytes; readonly note?: string }
  | { readonly is: 'kept'; readonly reason: string }

/** Something that can go, as far as a look tells. */
export interface Candidate {
  readonly kind: ItemKind
  readonly name: string
  readonly path: string
  readonly backend: BackendName
  /** Tells it from another thing of that name. */
  readonly identity: string
  /** Why it can go. */
  readonly reason: string
  /** What goes with it. */
  readonly parts: readonly MeasuredPart[]
  /** Where what it takes is not what would be freed. */
  readonly freed?: Bytes
  /** The oldest goes first where not all has to. */
  readonly changedAt: Date
  /** Looks again, with everybody else kept away, and removes it if it still can go. @throws what keeps it from that */
  readonly remove: (onSeen: (removed: number) => void) => Promise<Removal>
}

/** Something that was looked at and stays. */
export interface Skipped {
  readonly kind: string
  readonly name: string
  readonly path: string
  readonly reason: string
}

export interface Findings {
  readonly candidates: readonly Candidate[]
  readonly skipped: readonly Skipped[]
  readonly notes: readonly string[]
}

/** Names a thing among all; another one in its place is told by its identity. */
export function keyOf({
  kind,
  backend,
  path,
  name,
}: Pick<Candidate, 'kind' | 'backend' | 'path' | 'name'>): string {
  return JSON.stringify([kind, backend, path, name])
}
