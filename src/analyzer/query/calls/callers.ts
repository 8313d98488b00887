import { fault } from '../../errors.ts'
import { lineOf } from './calls.ts'
import { rows } from '../../bytecode/facts.ts'
import { isMethodReference, lambdaOwners } from '../../bytecode/lambdas.ts'
import { simpleNameOf, toFqn } from '../names.ts'
import { pageOf, pageOfGroups, type Paging } from '../page.ts'
import type { Snapshot } from '../snapshot.ts'
import { allSubtypes } from '../types/subtypes.ts'

export interface CallerFilter {
  readonly descriptor?: string | undefined
  readonly includeLibraries: boolean
  /** Also calls that name a class below the owner, which inherits or overrides the method. */
  readonly includeSubtypes: boolean
}

export interface Caller {
  readonly classFqn: string
  readonly classSimpleName: string
  readonly classSource: string
  /** The source's method: a lambda's body counts as the method that holds it. */
  readonly methodName: string
  readonly methodDescriptor: string
  readonly ownerType: string
  readonly descriptor: string
  readonly lineNumber: number | null
  readonly via: 'call' | 'methodRef' | 'lambda'
}

/** Who calls a method, named `owner#method`, also by method references and out of lambdas. @throws BAD_REQUEST and CLASS_NOT_FOUND */
export function callersOf(snapshot: Snapshot, member: string, filter: CallerFilter, paging: Paging) {
  const [, ownerFqn, name] = /^([^#]+)#([^#]+)$/.exec(member) ?? []
  if (ownerFqn === undefined || name === undefined) {
    throw fault(
      'BAD_REQUEST',
      `"${member}" must name a method as owner#method, for example java.util.List#add`,
    )
  }
  const { index } = snapshot
  const target = snapshot.getClass(ownerFqn)
  const owners = new Set([index.nameIdOf(target)])
  if (filter.includeSubtypes) {
    for (const id of allSubtypes(snapshot, index.nameIdOf(target)).keys()) owners.add(index.nameIdOf(id))
  }
  const ranks = index.ranks()
  const callers = callingClasses(snapshot, owners, index.names.find(name))
    .filter(({ id }) => snapshot.counts(id, filter.includeLibraries) && !index.isHidden(id))
    .toSorted((a, b) => (ranks[a.id] ?? 0) - (ranks[b.id] ?? 0))
  const calls = (id: number) => callsFrom(snapshot, id, owners, name, filter.descriptor)
  const { rows: found, ...page } =
    filter.descriptor === undefined
      ? pageOfGroups(
          callers,
          ({ count }) => count,
          paging,
          ({ id }) => calls(id),
        )
      : // Only their details tell which call has it.
        pageOf(
          callers.flatMap(({ id }) => calls(id)),
          paging,
          (call) => call,
        )
  return { member: `${snapshot.fqnOf(target)}#${name}`, callers: found, ...page }
}

/** Classes that call, with how often. */
function callingClasses(
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
  const isMeant = (owner: number, called: number, of: number): boolean =>
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
      if (isMeant(owner, called, of)) add(method, owner, of, calls.line[at], 'call')
    }
    for (const at of rows(methods.firstDynamicCall, method)) {
      const owner = dynamicCalls.handleOwner[at] ?? -1
      const of = dynamicCalls.handleDescriptor[at] ?? -1
      if (!isMeant(owner, dynamicCalls.handleName[at] ?? -1, of)) continue
      if (isMethodReference(facts, at, lambdas)) add(method, owner, of, dynamicCalls.line[at], 'methodRef')
    }
  }
  return found
}
