import type { MeasuredPart } from '../backend/backend.ts'
import type { Bytes } from '../bytes.ts'
import { bytesOf } from './bytes.ts'
import type { Walker, WalkWork } from './walker.ts'

/** Sizes by path, and what all of them together count more than once. */
export interface Measured {
  readonly sizeOf: (part: MeasuredPart) => Bytes
  readonly sharedBytes: number
  /** What could not be measured whole, in sentences. */
  readonly notes: readonly string[]
}

/** Measures parts in one walk, so that what they share is counted once; those that say what they take are not looked at. */
export async function measure(
  walker: Pick<Walker, 'walk'>,
  parts: readonly MeasuredPart[],
  work: WalkWork = {},
): Promise<Measured> {
  const paths = [...new Set(parts.filter(({ size }) => size === undefined).map(({ path }) => path))]
  const { trees, sharedBytes } = await walker.walk(paths, work)
  const notes: string[] = []
  const sizes = new Map(
    trees.map((tree, i) => {
      const path = paths[i] ?? ''
      // What vanished meanwhile takes nothing.
      if (tree.is === 'failed' && tree.code !== 'ENOENT') notes.push(`not measured: ${tree.message}`)
      if (tree.is === 'measured' && tree.unreadable > 0)
        notes.push(`${path}: ${tree.unreadable} directories cannot be read, ${tree.firstUnreadable} for one`)
      return [path, bytesOf(tree)] as const
    }),
  )
  return { sizeOf: ({ path, size }) => size ?? sizes.get(path) ?? bytesOf(undefined), sharedBytes, notes }
}
