import type { PortableError } from './portable-error.ts'

/** From the front process to the child. `worker` is a file URL. */
export type Order =
  | {
      readonly do: 'run'
      readonly id: number
      readonly worker: string
      readonly task: unknown
      readonly isFollowed: boolean
    }
  | { readonly do: 'cancel'; readonly id: number }

/** How a task ended in the child. */
export type Outcome =
  | { readonly is: 'done'; readonly result: unknown }
  | { readonly is: 'thrown'; readonly error: PortableError }
  | { readonly is: 'lost'; readonly error: PortableError }

/** From the child to the front process: passing news of a task that is followed, and its end. */
export type Report =
  { readonly id: number; readonly news: unknown } | { readonly id: number; readonly outcome: Outcome }

/** The child's command line, as JSON. */
export interface ChildSettings {
  readonly maxThreads: number
  readonly preload: readonly string[]
  readonly maxHeapMb?: number
  readonly niceness?: number
}
