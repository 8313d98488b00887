import type { PortableError } from './portable-error.ts'

/** Message from the parent to the child. `worker` is a file URL. */
export type Order =
  | {
      readonly do: 'run'
      readonly id: number
      readonly worker: string
      readonly task: unknown
      readonly isFollowed: boolean
    }
  | { readonly do: 'cancel'; readonly id: number }

/** Result of a task in the child. */
export type Outcome =
  | { readonly is: 'done'; readonly result: unknown }
  | { readonly is: 'thrown'; readonly error: PortableError }
  | { readonly is: 'lost'; readonly error: PortableError }

/** Message from the child to the parent: progress or result of a task. */
export type Report =
  { readonly id: number; readonly progress: unknown } | { readonly id: number; readonly outcome: Outcome }

/** The child's command line argument, as JSON. */
export interface ChildSettings {
  readonly maxThreads: number
  readonly preload: readonly string[]
  readonly maxHeapMb?: number
  readonly niceness?: number
}
