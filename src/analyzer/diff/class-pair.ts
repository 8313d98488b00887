import type { ApiClass } from './api-class.ts'
import type { Build } from './build.ts'

/** Two versions of a class with their builds. */
export interface ClassPair {
  readonly before: ApiClass
  readonly after: ApiClass
  readonly builds: { readonly old: Build; readonly new: Build }
  /** Whether to include members that no other package can use. */
  readonly all: boolean
}
