import type { MeasuredPart } from '../backend/backend.ts'
import type { Bytes } from '../bytes.ts'
import { bytesOf } from './bytes.ts'
import type { Walker, WalkWork } from './walker.ts'

/** Sizes by path, and the bytes that they share with each other. */
export interface Measured {
  readonly sizeOf: (part: MeasuredPart) => Bytes
  readonly sharedBytes: number
  /** Sentences about paths that could not be measured completely. */
  readonly notes: readonly string[]
}

/**
 * Measures parts in a single walk, so that shared extents are counted once. Parts with a known size are not
 * walked.
 */
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
      // A path that has vanished uses nothing.
      if (tree.is === 'failed' && tree.code !== 'ENOENT') notes.push(`not measured: ${tree.message}`)
      if (tree.is === 'measured' && tree.unreadable > 0)
        notes.push(
          `${path}: ${tree.unreadable} directories cannot be read, for example ${tree.firstUnreadable}`,
        )
      return [path, bytesOf(tree)] as const
    }),
  )
  return { sizeOf: ({ path, size }) => size ?? sizes.get(path) ?? bytesOf(undefined), sharedBytes, notes }
}
