import type { ApiClass } from './api-class.ts'
import type { Build } from './build.ts'

/** A class as it was and as it is, each in its build. */
export interface Pair {
  readonly before: ApiClass
  readonly after: ApiClass
  readonly builds: { readonly old: Build; readonly new: Build }
  /** Also members that no other package can name. */
  readonly all: boolean
}
