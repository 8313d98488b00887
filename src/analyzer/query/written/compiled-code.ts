import { ACC } from '../../bytecode/access-flags.ts'
import { type Facts, rows } from '../../bytecode/facts.ts'
import { codeRows, WrittenMethods } from '../../bytecode/written-methods.ts'
import type { Snapshot } from '../snapshot.ts'

const NONE: ReadonlyMap<number, number> = new Map()

/** The members that a compiler made, class by class; each is read once. */
export class CompiledCode {
  readonly snapshot: Snapshot
  /** Flags of the compiler's methods by name, by class. */
  readonly #made = new Map<number, ReadonlyMap<number, number>>()
  readonly #madeMethods = new Map<number, ReadonlyMap<string, number>>()

  constructor(snapshot: Snapshot) {
    this.snapshot = snapshot
  }

  /** Whether a compiler made a method, by its row in the slice; not if it is CLASS_ITSELF. */
  isMade(classId: number, method: number): boolean {
    const { accessFlags } = this.snapshot.index.sliceOf(classId).digest.methods
    return ((accessFlags[method] ?? 0) & ACC.SYNTHETIC) !== 0
  }

  /** Returns the flags of the compiler's methods of a class by their name, from its digest. */
  madeIn(classId: number): ReadonlyMap<number, number> {
    let found = this.#made.get(classId)
    if (found === undefined) this.#made.set(classId, (found = this.#readMade(classId)))
    return found
  }

  #readMade(classId: number): ReadonlyMap<number, number> {
    let found: Map<number, number> | undefined
    const { name, accessFlags, first, end } = this.#digestOf(classId)
    for (let at = first; at < end; at++) {
      const flags = accessFlags[at] ?? 0
      if ((flags & ACC.SYNTHETIC) !== 0) (found ??= new Map()).set(name[at] ?? -1, flags)
    }
    return found ?? NONE
  }

  /** Returns the names of the written methods of a class, from its digest. */
  writtenIn(classId: number): ReadonlySet<number> {
    const found = new Set<number>()
    const { name, accessFlags, first, end } = this.#digestOf(classId)
    for (let at = first; at < end; at++)
      if (((accessFlags[at] ?? 0) & ACC.SYNTHETIC) === 0) found.add(name[at] ?? -1)
    return found
  }

  /** Returns the methods of a class in its slice's digest, with their rows. */
  #digestOf(classId: number) {
    const { digest, firstClass } = this.snapshot.index.sliceOf(classId)
    const { classes, methods } = digest
    const row = classId - firstClass
    return { ...methods, first: classes.firstMethod[row] ?? 0, end: classes.firstMethod[row + 1] ?? 0 }
  }

  /** Returns the compiler's methods of a class by name and descriptor. */
  madeMethods(classId: number): ReadonlyMap<string, number> {
    let found = this.#madeMethods.get(classId)
    if (found !== undefined) return found
    const { facts, row } = this.read(classId)
    const { classes, methods, strings } = facts
    const own = this.methodsOf(classId)
    found = new Map(
      rows(classes.firstMethod, row)
        .filter((method) => own.isMade(method))
        .map((method) => [
          `${strings.get(methods.name[method] ?? 0)} ${strings.get(methods.descriptor[method] ?? 0)}`,
          method,
        ]),
    )
    this.#madeMethods.set(classId, found)
    return found
  }

  /** Returns the written methods of a class, and what a compiler made for them. */
  methodsOf(classId: number): WrittenMethods {
    const { facts, row } = this.read(classId)
    return WrittenMethods.of(facts, row)
  }

  /** Returns the number of rows in the code of a method, or of a class that a compiler made. */
  sizeOf(classId: number, method: number): number {
    const { facts, row } = this.read(classId)
    const methods = this.snapshot.index.isMade(classId) ? rows(facts.classes.firstMethod, row) : [method]
    return methods.reduce((sum, each) => sum + codeRows(facts, each), 0)
  }

  /** Returns the facts of a class with its row. */
  read(classId: number): { readonly facts: Facts; readonly row: number } {
    const slice = this.snapshot.index.sliceOf(classId)
    return { facts: this.snapshot.facts(slice), row: classId - slice.firstClass }
  }
}
