import { fault } from '../../errors.ts'
import { rows } from '../../bytecode/facts.ts'
import { WrittenMethods } from '../../bytecode/written-methods.ts'
import { lineOf, simpleNameOf, toFqn } from '../names.ts'
import { pageOfGroups, type Paging } from '../paging.ts'
import type { Snapshot } from '../snapshot.ts'
import { allSubtypes, allSupertypes } from '../types/subtypes.ts'
import { AS_COMPILED, type Attribution, CLASS_ITSELF } from '../written/attribution.ts'
import { WrittenCode } from '../written/written-code.ts'
import { checkMethod } from './check-method.ts'

/** Filter of callers. */
export interface CallerFilter {
  readonly descriptor?: string | undefined
  readonly includeLibraries: boolean
  /** Includes calls on subtypes of the owner, which inherit or override the method. */
  readonly includeSubtypes: boolean
  /** Names methods that a compiler made, instead of those that a person wrote. */
  readonly synthetic: boolean
}

/** A call, described by its caller. */
export interface Caller {
  readonly classFqn: string
  readonly classSimpleName: string
  readonly classSource: string
  /** Method that a person wrote: a lambda's body counts as the method around it. */
  readonly methodName: string
  readonly methodDescriptor: string
  /** Type named in the bytecode. */
  readonly ownerType: string
  /** Descriptor of the called method. */
  readonly descriptor: string
  readonly lineNumber: number | null
  readonly via: 'call' | 'methodRef' | 'lambda'
}

/**
 * Returns the callers of a method `owner#method`, including method references and lambdas. `subtypeCallCount`
 * and `supertypeCallCount` count calls on subtypes or supertypes of the owner.
 *
 * @throws BAD_REQUEST, CLASS_NOT_FOUND, and METHOD_NOT_FOUND when nothing declares or calls the method
 */
export function callersOf(snapshot: Snapshot, member: string, filter: CallerFilter, paging: Paging) {
  const [, ownerFqn, name] = /^([^#]+)#(.+)$/.exec(member) ?? []
  if (ownerFqn === undefined || name === undefined) {
    throw fault(
      'BAD_REQUEST',
      `"${member}" is not a method; write owner#method, for example java.util.List#add`,
    )
  }
  const { index } = snapshot
  const owner = snapshot.getType(ownerFqn)
  const subtypes = [...allSubtypes(snapshot, owner).keys()]
  const owners = new Set([owner])
  const below = new Set(subtypes.map((id) => index.nameIdOf(id)))
  const above = allSupertypes(snapshot, owner)
  const search = new CallSearch(snapshot, name, filter)
  const calls = search.on(filter.includeSubtypes ? new Set([...owners, ...below]) : owners)
  // Constructors are not inherited.
  const isInherited = name !== '<init>'
  const belowCount = isInherited ? search.on(below).count : 0
  const aboveCount = isInherited ? search.on(above).count : 0
  if (!search.isCalled) checkMethod(snapshot, { owner, above, name, descriptor: filter.descriptor })
  const { rows: callers, ...page } = calls.page(paging)
  return {
    member: `${toFqn(index.names.get(owner))}#${name}`,
    callers,
    ...page,
    subtypeCallCount: belowCount,
    supertypeCallCount: aboveCount,
    appliedFilter: {
      descriptor: filter.descriptor ?? null,
      includeLibraries: filter.includeLibraries,
      includeSubtypes: filter.includeSubtypes,
      synthetic: filter.synthetic,
    },
  }
}

/** Finds calls of methods with a name. */
class CallSearch {
  readonly #snapshot: Snapshot
  readonly #name: string
  readonly #nameId: number | undefined
  /** Name of the method with which a Kotlin compiler fills in default arguments, which it calls instead. */
  readonly #filledIn: string
  readonly #filter: CallerFilter
  readonly #code: Attribution
  /** Whether any class calls such a method on one of the owners, including libraries and the JDK. */
  isCalled = false

  constructor(snapshot: Snapshot, name: string, filter: CallerFilter) {
    this.#snapshot = snapshot
    this.#name = name
    this.#nameId = snapshot.index.names.find(name)
    this.#filledIn = `${name}$default`
    this.#filter = filter
    this.#code = filter.synthetic ? AS_COMPILED : WrittenCode.of(snapshot)
  }

  /**
   * Finds the calls on some types.
   *
   * @param owners ids of their names
   */
  on(owners: ReadonlySet<number>) {
    const { descriptor, includeLibraries } = this.#filter
    const { index } = this.#snapshot
    const ranks = index.ranks()
    const all = callingClasses(this.#snapshot, owners, this.#nameId)
    const filledIn = this.#filter.synthetic
      ? []
      : callingClasses(this.#snapshot, owners, index.names.find(this.#filledIn))
    const mixed = new Set(filledIn.map(({ id }) => id))
    this.isCalled ||= all.length > 0 && descriptor === undefined
    const groups: CallGroup[] = []
    for (const { id, count } of [...all.filter((each) => !mixed.has(each.id)), ...filledIn]) {
      if (!this.#snapshot.counts(id, includeLibraries) || index.isHidden(id)) continue
      // Only the facts of calls contain descriptors.
      if (
        descriptor === undefined &&
        !mixed.has(id) &&
        !this.#code.isCallCountedElsewhere(id, this.#nameId ?? -1)
      ) {
        groups.push({ id, count, found: undefined })
        continue
      }
      for (const [classId, found] of Map.groupBy(this.#callsFrom(id, owners), (each) => each.classId))
        groups.push({ id: classId, count: found.length, found })
    }
    const classes = groups.toSorted((a, b) => (ranks[a.id] ?? 0) - (ranks[b.id] ?? 0))
    const count = classes.reduce((sum, group) => sum + group.count, 0)
    this.isCalled ||= count > 0
    return {
      count,
      page: (paging: Paging) =>
        pageOfGroups(
          classes,
          (group) => group.count,
          paging,
          ({ id, found }) => (found ?? this.#callsFrom(id, owners)).map(({ call }) => call),
        ),
    }
  }

  /** Returns the calls in a class, each with the class for which it counts. */
  #callsFrom(id: number, owners: ReadonlySet<number>): readonly FoundCaller[] {
    const slice = this.#snapshot.index.sliceOf(id)
    const facts = this.#snapshot.facts(slice)
    const { classes, methods, calls, dynamicCalls, strings } = facts
    const row = id - slice.firstClass
    const own = WrittenMethods.of(facts, row)
    const { descriptor } = this.#filter
    const matches = (owner: number, called: number): boolean =>
      owner >= 0 &&
      (strings.get(called) === this.#name || strings.get(called) === this.#filledIn) &&
      owners.has(this.#snapshot.index.names.find(strings.get(owner)) ?? -1)
    const found: FoundCaller[] = []
    const add = (
      method: number,
      owner: number,
      name: number,
      of: number,
      line: number | undefined,
      via: Caller['via'],
    ): void => {
      const named = { owner: strings.get(owner), name: strings.get(name), descriptor: strings.get(of) }
      const called = this.#code.calledAs(named)
      if (named.name !== this.#name && called.name !== this.#name) return
      if (descriptor !== undefined && descriptor !== called.descriptor && descriptor !== named.descriptor)
        return
      for (const place of this.#code.placesOf(id, method))
        found.push({
          classId: place.classId,
          call: {
            ...callerAt(this.#snapshot, place.classId, place.method),
            ownerType: toFqn(named.owner),
            descriptor: called.name === this.#name ? called.descriptor : named.descriptor,
            lineNumber: place.line ?? lineOf(line),
            via: place.isInLambda ? 'lambda' : via,
          },
        })
    }
    for (const method of rows(classes.firstMethod, row)) {
      for (const at of rows(methods.firstCall, method)) {
        const [owner = -1, called = -1, of = -1] = [calls.owner[at], calls.name[at], calls.descriptor[at]]
        if (matches(owner, called) && !this.#code.isDelegation(id, method, at))
          add(method, owner, called, of, calls.line[at], 'call')
      }
      for (const at of rows(methods.firstDynamicCall, method)) {
        const owner = dynamicCalls.handleOwner[at] ?? -1
        const name = dynamicCalls.handleName[at] ?? -1
        if (!matches(owner, name) || !own.isMethodReference(at)) continue
        add(method, owner, name, dynamicCalls.handleDescriptor[at] ?? -1, dynamicCalls.line[at], 'methodRef')
      }
    }
    return found
  }
}

/** Calls that count for a class; of one class there can be several. */
interface CallGroup {
  readonly id: number
  readonly count: number
  /** Undefined if they are those that the class contains. */
  readonly found: readonly FoundCaller[] | undefined
}

interface FoundCaller {
  readonly classId: number
  readonly call: Caller
}

/** Describes a class or a method, by its row in the facts, as a caller. */
function callerAt(snapshot: Snapshot, classId: number, method: number) {
  const slice = snapshot.index.sliceOf(classId)
  const { methods, strings } = snapshot.facts(slice)
  const classFqn = snapshot.fqnOf(classId)
  const isClass = method === CLASS_ITSELF
  return {
    classFqn,
    classSimpleName: simpleNameOf(classFqn),
    classSource: slice.source,
    methodName: isClass ? '<clinit>' : strings.get(methods.name[method] ?? 0),
    methodDescriptor: isClass ? '()V' : strings.get(methods.descriptor[method] ?? 0),
  }
}

/** Returns the calling classes with the number of calls. */
export function callingClasses(
  snapshot: Snapshot,
  owners: ReadonlySet<number>,
  name: number | undefined,
): readonly { readonly id: number; readonly count: number }[] {
  const found = new Map<number, number>()
  if (name === undefined) return []
  for (const { digest, firstClass } of snapshot.index.slices) {
    const { callees, callers } = digest
    for (let row = callees.name.indexOf(name); row !== -1; row = callees.name.indexOf(name, row + 1)) {
      if (!owners.has(callees.owner[row] ?? -1)) continue
      for (let at = callees.firstCaller[row] ?? 0; at < (callees.firstCaller[row + 1] ?? 0); at++) {
        const id = firstClass + (callers.class[at] ?? 0)
        found.set(id, (found.get(id) ?? 0) + (callers.times[at] ?? 0))
      }
    }
  }
  return Array.from(found, ([id, count]) => ({ id, count }))
}
