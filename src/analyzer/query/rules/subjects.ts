import type { IndexedSlice } from '../../index/indexed-slice.ts'
import type { Snapshot } from '../snapshot.ts'
import { NOWHERE } from '../written/attribution.ts'
import { WrittenCode } from '../written/written-code.ts'

/** Classes of the project that rules are about, and how they use types. */
export class Subjects {
  readonly snapshot: Snapshot
  readonly #includeTests: boolean

  constructor(snapshot: Snapshot, includeTests: boolean) {
    this.snapshot = snapshot
    this.#includeTests = includeTests
  }

  /** Yields the classes that a person wrote, sorted by name. */
  *all(): Generator<number> {
    const { index } = this.snapshot
    for (const id of index.writtenOfProject()) if (this.#includes(index.sliceOf(id))) yield id
  }

  /**
   * Calls `visit` for each kind in which a class uses another type, by the id of the type's name; yields often.
   * A compiler's class, the last argument, is visited as the one for which it counts.
   */
  *forEachUse(
    isTarget: (name: number) => boolean,
    visit: (classId: number, name: number, kind: number, compiled: number) => void,
  ): Generator<void, void> {
    const { index } = this.snapshot
    const code = WrittenCode.of(this.snapshot)
    for (const slice of index.slices) {
      if (!this.#includes(slice)) continue
      const { types, uses } = slice.digest
      for (let row = 0; row < types.count; row++) {
        if (row % ROWS_A_TURN === 0) yield
        const name = types.name[row] ?? -1
        if (name < 0 || !isTarget(name)) continue
        for (let use = types.firstUse[row] ?? 0; use < (types.firstUse[row + 1] ?? 0); use++) {
          if (use % ROWS_A_TURN === 0) yield
          const compiled = slice.firstClass + (uses.class[use] ?? 0)
          if (index.isHidden(compiled)) continue
          const classId = code.classOf(compiled)
          if (classId !== NOWHERE && index.nameIdOf(classId) !== name)
            visit(classId, name, uses.kind[use] ?? 0, compiled)
        }
      }
    }
  }

  #includes({ source, location }: IndexedSlice): boolean {
    return source === 'PROJECT' && (this.#includeTests || !isTestFolder(location))
  }
}

const ROWS_A_TURN = 64

/** Whether a class folder has compiled tests: `test-classes`, `classes/java/test`, `out/test/…`. */
function isTestFolder(location: string): boolean {
  return location
    .split(/[/\\]/)
    .slice(-3)
    .some((part) => /^(?:test|test-classes|\w+Test|testFixtures)$/.test(part))
}
