import { ACC } from '../../bytecode/access-flags.ts'
import { rows } from '../../bytecode/facts.ts'
import type { Called } from './attribution.ts'
import type { CompiledCode } from './compiled-code.ts'

/** More than a compiler passes a call on. */
const MAX_PASSED_ON = 16

/** Members that a compiler made to stand for written ones: bridges, accessors, fields for variables. */
export class StandIns {
  readonly #compiled: CompiledCode

  constructor(compiled: CompiledCode) {
    this.#compiled = compiled
  }

  /**
   * Whether a class has a bridge for a method that another declares, as a visible class has for those of an
   * invisible one.
   *
   * @param owner id of the name of the other class
   */
  hasBridge(classId: number, owner: number, name: string): boolean {
    const flags =
      this.#compiled.madeIn(classId).get(this.#compiled.snapshot.index.names.find(name) ?? -1) ?? 0
    if ((flags & ACC.BRIDGE) === 0) return false
    const text = this.#compiled.snapshot.index.names.get(owner)
    return [...this.#compiled.madeMethods(classId).keys()].some((key) => {
      const at = key.indexOf(' ')
      const called = {
        owner: this.#compiled.snapshot.index.nameOf(classId),
        name: key.slice(0, at),
        descriptor: key.slice(at + 1),
      }
      return called.name === name && this.#standsFor(called)?.owner === text
    })
  }

  /** As `Attribution` describes it. */
  calledAs(called: Called): Called {
    let at = called
    for (let steps = 0; steps < MAX_PASSED_ON; steps++) {
      const next = this.#standsFor(at)
      if (next === undefined) return at
      at = next
    }
    return called
  }

  /** Returns what a compiler's method calls or accesses; undefined for a written member. */
  #standsFor(called: Called): Called | undefined {
    const { owner, name, descriptor } = called
    const classId = this.#compiled.snapshot.index.find(owner)
    if (classId === undefined) return undefined
    if (!descriptor.startsWith('(')) return this.#variableOf(classId, called)
    if (!this.#compiled.madeIn(classId).has(this.#compiled.snapshot.index.names.find(name) ?? -1))
      return undefined
    const method = this.#compiled.madeMethods(classId).get(`${name} ${descriptor}`)
    if (method === undefined) return undefined
    const { facts } = this.#compiled.read(classId)
    const { methods, calls, fieldAccesses, strings } = facts
    const own = this.#compiled.methodsOf(classId)
    const memberAt = (table: typeof calls | typeof fieldAccesses, at: number): Called => ({
      owner: strings.get(table.owner[at] ?? 0),
      name: strings.get(table.name[at] ?? 0),
      descriptor: strings.get(table.descriptor[at] ?? 0),
    })
    const ownCalls = rows(methods.firstCall, method)
    const passedOn = ownCalls.find((call) => own.isDelegation(method, call)) ?? ownCalls[0]
    if (passedOn !== undefined) return memberAt(calls, passedOn)
    const [accessed] = rows(methods.firstFieldAccess, method)
    if (accessed !== undefined) return memberAt(fieldAccesses, accessed)
    const holder = own.holderOf(method)
    if (holder < 0 || holder === method) return undefined
    return {
      owner,
      name: strings.get(methods.name[holder] ?? 0),
      descriptor: strings.get(methods.descriptor[holder] ?? 0),
    }
  }

  /** Returns the variable for which a compiler made a field; undefined for a written one. */
  #variableOf(classId: number, { owner, name, descriptor }: Called): Called | undefined {
    if (!name.includes('$')) return undefined
    const { facts, row } = this.#compiled.read(classId)
    const { classes, fields, strings } = facts
    const field = rows(classes.firstField, row).find((each) => strings.get(fields.name[each] ?? 0) === name)
    if (field === undefined || ((fields.accessFlags[field] ?? 0) & ACC.SYNTHETIC) === 0) return undefined
    return { owner, name: /^val\$(.+)$/.exec(name)?.[1] ?? 'this', descriptor }
  }
}
