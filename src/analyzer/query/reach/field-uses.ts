import { rows } from '../../bytecode/facts.ts'
import type { IndexedSlice } from '../../index/indexed-slice.ts'
import { descriptorReader, LIMIT } from '../paths/slice-calls.ts'
import type { Snapshot } from '../snapshot.ts'
import { allSupertypes } from '../types/subtypes.ts'
import { NumberPool } from './number-pool.ts'
import type { ProjectCode } from './project-code.ts'
import { fieldKey } from './read-uses.ts'

const READ = 1
const WRITTEN = 2

/** Uses of the project's fields by reached and by dead code. Names of fields are ids of the graph's descriptors. */
export class FieldUses {
  readonly #snapshot: Snapshot
  readonly #code: ProjectCode
  /** Declared fields by class and name. */
  readonly #declared = new NumberPool()
  /** Bits of READ and WRITTEN by reached code, by declared field. */
  readonly #uses: number[] = []
  /** First user in dead code, by declared field. */
  readonly #deadUser = new Map<number, number>()
  /** Declared field of each used one, or -1. */
  readonly #resolved = new Map<number, number>()

  /** Names of the fields of each slice. */
  readonly #names = new Map<IndexedSlice, Int32Array>()

  private constructor(snapshot: Snapshot, code: ProjectCode) {
    this.#snapshot = snapshot
    this.#code = code
  }

  /** Reads the names of the project's fields. */
  static *read(snapshot: Snapshot, code: ProjectCode): Generator<void, FieldUses> {
    const uses = new FieldUses(snapshot, code)
    for (const slice of snapshot.index.slices) {
      if (slice.source !== 'PROJECT') continue
      yield
      const facts = snapshot.facts(slice)
      const names = facts.fields.name.map(descriptorReader(facts, code.graph.descriptors))
      uses.#names.set(slice, names)
      for (let row = 0; row < facts.classes.count; row++)
        for (const field of rows(facts.classes.firstField, row))
          uses.#declared.idOf(fieldKey(slice.firstClass + row, names[field] ?? -1))
    }
    return uses
  }

  /** Returns the name of a field, given by its row in the slice's facts. */
  nameOf(slice: IndexedSlice, field: number): number {
    return this.#names.get(slice)?.[field] ?? -1
  }

  /** @param use as in `SliceUses.fields` */
  use(use: number, method: number, isReached: boolean): void {
    const field = this.#resolve(use >> 1)
    if (field < 0) return
    if (isReached) this.#uses[field] = (this.#uses[field] ?? 0) | ((use & 1) === 1 ? READ : WRITTEN)
    else if (!this.#deadUser.has(field)) this.#deadUser.set(field, method)
  }

  isRead(classId: number, name: number): boolean {
    return ((this.#uses[this.#declared.find(fieldKey(classId, name))] ?? 0) & READ) !== 0
  }

  isWritten(classId: number, name: number): boolean {
    return ((this.#uses[this.#declared.find(fieldKey(classId, name))] ?? 0) & WRITTEN) !== 0
  }

  /** Returns a dead method that uses a field, or undefined. */
  deadUserOf(classId: number, name: number): number | undefined {
    return this.#deadUser.get(this.#declared.find(fieldKey(classId, name)))
  }

  /** JVMS §5.4.3.2: a field is found in the named class or the supertypes. */
  #resolve(field: number): number {
    const known = this.#resolved.get(field)
    if (known !== undefined) return known
    const key = this.#code.pools.fields.get(field)
    const owner = Math.floor(key / LIMIT)
    let found = -1
    for (const type of [owner, ...allSupertypes(this.#snapshot, owner)]) {
      const classId = this.#snapshot.index.findByNameId(type)
      if (classId === undefined) continue
      found = this.#declared.find(fieldKey(classId, key - owner * LIMIT))
      if (found >= 0) break
    }
    this.#resolved.set(field, found)
    return found
  }
}
