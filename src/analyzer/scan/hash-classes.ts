import { createHash } from 'node:crypto'
import { ClassBytes } from './class-bytes.ts'

/** Task to hash class files. */
export interface HashClassesTask {
  readonly classes: readonly {
    /** Location in the index. */
    readonly location: string
    /** Internal name. */
    readonly name: string
  }[]
  /** Java release that selects classes of multi-release archives. */
  readonly release: number
}

/** Returns the SHA-256 of each class file in a pool process; null if it cannot be read. */
export function hashClasses({ classes, release }: HashClassesTask): readonly (string | null)[] {
  const bytes = new ClassBytes(release)
  return classes.map(({ location, name }) => {
    try {
      const found = bytes.read(location, name)
      return found === undefined ? null : createHash('sha256').update(found).digest('base64url')
    } catch {
      return null
    }
  })
}
