import { ACC } from '../../bytecode/access-flags.ts'
import { OPCODE } from '../../bytecode/columns.ts'
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

  /** As `Attribution` describes it. */
  calledAs(called: Called): Called {
    let at: Called = called
    for (let steps = 0; steps < MAX_PASSED_ON; steps++) {
      const next = this.#standsFor(at)
      if (next === undefined) return at
      const receivers = (at.receivers ?? 0) + (next.receivers ?? 0)
      at = receivers === 0 ? next : { ...next, receivers }
    }
    return called
  }

  /** Returns what a compiler's method calls or accesses; undefined for a written member. */
  #standsFor(called: Called): Called | undefined {
    const { owner, name, descriptor } = called
    const { index } = this.#compiled.snapshot
    const classId = index.find(owner)
    if (classId === undefined) return undefined
    if (!descriptor.startsWith('(')) return this.#variableOf(classId, called)
    if (!this.#compiled.madeIn(classId).has(index.names.find(name) ?? -1)) return undefined
    const method = this.#compiled.madeMethods(classId).get(`${name} ${descriptor}`)
    if (method === undefined) return undefined
    const { facts } = this.#compiled.read(classId)
    const { methods, calls, fieldAccesses, strings } = facts
    const own = this.#compiled.methodsOf(classId)
    const [accessed] = rows(methods.firstFieldAccess, method)
    const memberAt = (table: typeof calls | typeof fieldAccesses, at: number): Called => ({
      owner: strings.get(table.owner[at] ?? 0),
      name: strings.get(table.name[at] ?? 0),
      descriptor: strings.get(table.descriptor[at] ?? 0),
    })
    const ownCalls = rows(methods.firstCall, method)
    // An accessor of a field has calls if it adds to a string, or to a number in an object.
    const first = accessed === undefined ? ownCalls[0] : undefined
    const passedOn = ownCalls.find((call) => own.isDelegation(method, call)) ?? first
    if (passedOn !== undefined) {
      const target = memberAt(calls, passedOn)
      // A class can have a method of an invisible parent only by a bridge, which people call.
      const isInherited = own.isAlias(method) && target.owner !== owner && !index.isMade(classId)
      if (isInherited) return undefined
      const isStatic = ((methods.accessFlags[method] ?? 0) & ACC.STATIC) !== 0
      return isStatic && calls.opcode[passedOn] !== OPCODE.INVOKESTATIC ? { ...target, receivers: 1 } : target
    }
    if (accessed !== undefined) return memberAt(fieldAccesses, accessed)
    const [holder] = own.holdersOf(method)
    if (holder === undefined) return undefined
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
