import { fault } from '../../errors.ts'
import { lineOf } from './calls.ts'
import { rows } from '../../bytecode/facts.ts'
import { isMethodReference, lambdaOwners } from '../../bytecode/lambdas.ts'
import { simpleNameOf, toFqn } from '../names.ts'
import { pageOf, pageOfGroups, type Paging } from '../paging.ts'
import type { Snapshot } from '../snapshot.ts'
import { allSubtypes, allSupertypes } from '../types/subtypes.ts'
import { checkMethod } from './check-method.ts'

/** Filter of callers. */
export interface CallerFilter {
  readonly descriptor?: string | undefined
  readonly includeLibraries: boolean
  /** Includes calls on subtypes of the owner, which inherit or override the method. */
  readonly includeSubtypes: boolean
}

/** A call, described by its caller. */
export interface Caller {
  readonly classFqn: string
  readonly classSimpleName: string
  readonly classSource: string
  /** Source method: a lambda's body counts as the enclosing method. */
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
  const below = new Set(Array.from(allSubtypes(snapshot, owner).keys(), (id) => index.nameIdOf(id)))
  const above = allSupertypes(snapshot, owner)
  const search = new CallSearch(snapshot, name, filter)
  const calls = search.on(filter.includeSubtypes ? new Set([owner, ...below]) : new Set([owner]))
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
    },
  }
}

/** Finds calls of methods with a name. */
class CallSearch {
  readonly #snapshot: Snapshot
  readonly #name: string
  readonly #nameId: number | undefined
  readonly #filter: CallerFilter
  /** Whether any class calls such a method on one of the owners, including libraries and the JDK. */
  isCalled = false

  constructor(snapshot: Snapshot, name: string, filter: CallerFilter) {
    this.#snapshot = snapshot
    this.#name = name
    this.#nameId = snapshot.index.names.find(name)
    this.#filter = filter
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
    this.isCalled ||= all.length > 0 && descriptor === undefined
    const classes = all
      .filter(({ id }) => this.#snapshot.counts(id, includeLibraries) && !index.isHidden(id))
      .toSorted((a, b) => (ranks[a.id] ?? 0) - (ranks[b.id] ?? 0))
    const from = (id: number) => callsFrom(this.#snapshot, id, owners, this.#name, descriptor)
    // Only the facts of calls contain descriptors.
    const found = descriptor === undefined ? undefined : classes.flatMap(({ id }) => from(id))
    this.isCalled ||= found !== undefined && found.length > 0
    return {
      count: found?.length ?? classes.reduce((sum, { count }) => sum + count, 0),
      page: (paging: Paging) =>
        found === undefined
          ? pageOfGroups(
              classes,
              ({ count }) => count,
              paging,
              ({ id }) => from(id),
            )
          : pageOf(found, paging, (call) => call),
    }
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

function callsFrom(
  snapshot: Snapshot,
  id: number,
  owners: ReadonlySet<number>,
  name: string,
  descriptor: string | undefined,
): readonly Caller[] {
  const slice = snapshot.index.sliceOf(id)
  const facts = snapshot.facts(slice)
  const { classes, methods, calls, dynamicCalls, strings } = facts
  const lambdas = lambdaOwners(facts, id - slice.firstClass)
  const classFqn = snapshot.fqnOf(id)
  const matches = (owner: number, called: number, of: number): boolean =>
    owner >= 0 &&
    strings.get(called) === name &&
    (descriptor === undefined || strings.get(of) === descriptor) &&
    owners.has(snapshot.index.names.find(strings.get(owner)) ?? -1)
  const found: Caller[] = []
  const add = (
    method: number,
    owner: number,
    of: number,
    line: number | undefined,
    via: Caller['via'],
  ): void => {
    const holder = lambdas.get(method)
    found.push({
      classFqn,
      classSimpleName: simpleNameOf(classFqn),
      classSource: slice.source,
      methodName: strings.get(methods.name[holder ?? method] ?? 0),
      methodDescriptor: strings.get(methods.descriptor[holder ?? method] ?? 0),
      ownerType: toFqn(strings.get(owner)),
      descriptor: strings.get(of),
      lineNumber: lineOf(line),
      via: holder === undefined ? via : 'lambda',
    })
  }
  for (const method of rows(classes.firstMethod, id - slice.firstClass)) {
    for (const at of rows(methods.firstCall, method)) {
      const [owner = -1, called = -1, of = -1] = [calls.owner[at], calls.name[at], calls.descriptor[at]]
      if (matches(owner, called, of)) add(method, owner, of, calls.line[at], 'call')
    }
    for (const at of rows(methods.firstDynamicCall, method)) {
      const owner = dynamicCalls.handleOwner[at] ?? -1
      const of = dynamicCalls.handleDescriptor[at] ?? -1
      if (!matches(owner, dynamicCalls.handleName[at] ?? -1, of)) continue
      if (isMethodReference(facts, at, lambdas)) add(method, owner, of, dynamicCalls.line[at], 'methodRef')
    }
  }
  return found
}
