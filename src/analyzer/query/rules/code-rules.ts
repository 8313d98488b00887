import { type Facts, rows } from '../../bytecode/facts.ts'
import { WrittenMethods } from '../../bytecode/written-methods.ts'
import { lineOf, toFqn, toInternal, typesOfMethod } from '../names.ts'
import type { Snapshot } from '../snapshot.ts'
import { allSupertypes } from '../types/subtypes.ts'
import { memberAt } from '../calls/find-references.ts'
import type { Called } from '../written/attribution.ts'
import { WrittenCode } from '../written/written-code.ts'
import { Selectors, type TypeTest } from './class-selector.ts'
import { MemberPattern } from './member-pattern.ts'
import { listOf, type Rule } from './rule-set.ts'
import { Subjects } from './subjects.ts'
import { type Found, SourceMembers, typeName } from './violation.ts'

/** A use of a member in code. */
interface MemberUse {
  /** Row of the method that contains it. */
  readonly method: number
  /** Row of the call. */
  readonly call?: number
  readonly owner: string
  readonly name: string
  readonly descriptor: string
  readonly lineNumber: number | null
}

/** Finds calls of methods and constructors, or accesses of fields, that a rule forbids. */
export function* findMemberUses(snapshot: Snapshot, rule: Rule): Generator<void, readonly Found[]> {
  const isCall = rule.mustNotCall !== undefined
  const forbidden = new ForbiddenMembers(snapshot, listOf(rule.mustNotCall ?? rule.mustNotAccess))
  const isSubject = new Selectors(snapshot).of(rule.classes)
  const subjects = new Subjects(snapshot, rule.includeTests === true)
  const candidates = new Set<number>()
  yield* subjects.forEachUse(
    (name) => forbidden.hasOwner(name),
    (classId) => candidates.add(classId),
  )
  const code = WrittenCode.of(snapshot)
  const found = new Map<string, Found>()
  for (const classId of subjects.all()) {
    yield
    const name = snapshot.index.nameIdOf(classId)
    // Code of a class may count for a nested one.
    if (!isSubject(name) && !code.isShared(classId)) continue
    for (const part of code.partsOf(classId))
      if (candidates.has(classId) || forbidden.hasOwner(snapshot.index.nameIdOf(part)))
        yield* addUses(snapshot, part, isCall, forbidden, isSubject, found)
  }
  const ranks = snapshot.index.ranks()
  return [...found.values()].toSorted((a, b) => (ranks[a.classId] ?? 0) - (ranks[b.classId] ?? 0))
}

/** Adds one violation for each member and target, at its first line: a baseline has no lines. */
function* addUses(
  snapshot: Snapshot,
  classId: number,
  isCall: boolean,
  forbidden: ForbiddenMembers,
  isSubject: TypeTest,
  found: Map<string, Found>,
): Generator<void, void> {
  const slice = snapshot.index.sliceOf(classId)
  const facts = snapshot.facts(slice)
  const code = WrittenCode.of(snapshot)
  let members: SourceMembers | undefined
  for (const compiled of isCall
    ? callsIn(facts, classId - slice.firstClass)
    : accessesIn(facts, classId - slice.firstClass)) {
    if (compiled === undefined) {
      yield
      continue
    }
    const called = code.calledAs(compiled)
    // A field of the compiler's is not accessed, and one that its method accesses is not called.
    if (isCall ? !called.descriptor.startsWith('(') : called.name !== compiled.name) continue
    const target = forbidden.targetOf(called)
    if (target === undefined) continue
    const { method, call, lineNumber } = compiled
    if (call !== undefined && code.isDelegation(classId, method, call)) continue
    for (const at of code.placesOf(classId, method)) {
      if (!isSubject(snapshot.index.nameIdOf(at.classId))) continue
      const { member, descriptor } = memberAt(snapshot, at)
      members = SourceMembers.of(snapshot, at.classId, members)
      const place = members.place(member, descriptor, at.line ?? lineNumber)
      const key = `${at.classId} ${member} ${descriptor} ${target}`
      const line = found.get(key)?.lineNumber ?? Infinity
      if ((place.lineNumber ?? Infinity) < line || !found.has(key))
        found.set(key, {
          classId: at.classId,
          ...place,
          target,
          what: `${isCall ? 'calls' : 'accesses'} ${target}`,
        })
    }
  }
}

/** Members that a rule forbids. */
class ForbiddenMembers {
  readonly #snapshot: Snapshot
  readonly #patterns: readonly MemberPattern[]
  /** Patterns whose owner is a type, by the id of the type's name. */
  readonly #exact = new Map<number, readonly MemberPattern[]>()
  /** The same for a type or a supertype of it. */
  readonly #inherited = new Map<number, readonly MemberPattern[]>()

  constructor(snapshot: Snapshot, patterns: readonly string[]) {
    this.#snapshot = snapshot
    this.#patterns = patterns.map((pattern) => new MemberPattern(pattern))
  }

  /** Whether a type or a supertype of it is the owner in a pattern. */
  hasOwner(type: number): boolean {
    return this.#inheritedBy(type).length > 0
  }

  /** Returns a forbidden member in source notation; undefined if a use is allowed. */
  targetOf({ owner, name, descriptor }: Called): string | undefined {
    const type = this.#snapshot.index.names.find(toInternal(owner))
    if (type === undefined) return undefined
    const patterns = name === '<init>' ? this.#ownedBy(type) : this.#inheritedBy(type)
    if (!patterns.some((pattern) => pattern.matches(name, descriptor))) return undefined
    const isMethod = descriptor.startsWith('(')
    return `${toFqn(owner)}#${name}${isMethod ? `(${typesOfMethod(descriptor).parameters.join(',')})` : ''}`
  }

  #ownedBy(type: number): readonly MemberPattern[] {
    let found = this.#exact.get(type)
    if (found === undefined) {
      const fqn = typeName(this.#snapshot, type)
      this.#exact.set(type, (found = this.#patterns.filter(({ owner }) => owner.matches(fqn))))
    }
    return found
  }

  #inheritedBy(type: number): readonly MemberPattern[] {
    let found = this.#inherited.get(type)
    if (found === undefined) {
      const types = [type, ...allSupertypes(this.#snapshot, type)]
      found = [...new Set(types.flatMap((each) => this.#ownedBy(each)))]
      this.#inherited.set(type, found)
    }
    return found
  }
}

/** Yields the calls and method references of a class, and undefined after each method. */
function* callsIn(facts: Facts, row: number): Generator<MemberUse | undefined> {
  const { classes, methods, calls, dynamicCalls, strings } = facts
  const own = WrittenMethods.of(facts, row)
  for (const method of rows(classes.firstMethod, row)) {
    yield undefined
    for (const at of rows(methods.firstCall, method)) yield { ...useAt(strings, method, calls, at), call: at }
    for (const at of rows(methods.firstDynamicCall, method)) {
      if (!own.isMethodReference(at)) continue
      yield {
        method,
        owner: strings.get(dynamicCalls.handleOwner[at] ?? 0),
        name: strings.get(dynamicCalls.handleName[at] ?? 0),
        descriptor: strings.get(dynamicCalls.handleDescriptor[at] ?? 0),
        lineNumber: lineOf(dynamicCalls.line[at]),
      }
    }
  }
}

/** Yields the field accesses of a class, and undefined after each method. */
function* accessesIn(
  { classes, methods, fieldAccesses, strings }: Facts,
  row: number,
): Generator<MemberUse | undefined> {
  for (const method of rows(classes.firstMethod, row)) {
    yield undefined
    for (const at of rows(methods.firstFieldAccess, method)) yield useAt(strings, method, fieldAccesses, at)
  }
}

/** Returns the use that a row of a table of instructions describes. */
function useAt(
  strings: Facts['strings'],
  method: number,
  { owner, name, descriptor, line }: Facts['calls'] | Facts['fieldAccesses'],
  at: number,
): MemberUse {
  return {
    method,
    owner: strings.get(owner[at] ?? 0),
    name: strings.get(name[at] ?? 0),
    descriptor: strings.get(descriptor[at] ?? 0),
    lineNumber: lineOf(line[at]),
  }
}
