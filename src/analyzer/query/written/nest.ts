import { rows } from '../../bytecode/facts.ts'
import { codeRows, sharedRows } from '../../bytecode/written-methods.ts'
import { lowerBound } from '../../index/lower-bound.ts'
import type { ProjectIndex } from '../../index/project-index.ts'
import { lineOf } from '../names.ts'
import type { CompiledCode } from './compiled-code.ts'

/** A use of a compiler's class or method. */
export interface Use {
  readonly classId: number
  readonly method: number
  readonly line: number | null
}

/** A top-level class and those nested in it. */
export interface Nest {
  /** Uses of the compiler's code, by class, or by class and method. */
  readonly uses: ReadonlyMap<string, readonly Use[]>
  /** Rows of code that still may count elsewhere. */
  left: number
}

/** Returns the class of a name and those whose names extend it. */
export function nestedClasses(index: ProjectIndex, name: string): readonly number[] {
  const all = index.byName()
  const found: number[] = []
  const first = lowerBound(0, all.length, (at) => index.nameOf(all[at] ?? 0) < name)
  for (let at = first; at < all.length; at++) {
    const each = index.nameOf(all[at] ?? 0)
    if (!each.startsWith(name)) break
    if (each.length === name.length || each[name.length] === '$') found.push(all[at] ?? 0)
  }
  return found
}

/** Reads the uses of the compiler's code in some classes. */
export function readNest(compiled: CompiledCode, classIds: readonly number[]): Nest {
  const { index } = compiled.snapshot
  const byName = new Map(classIds.map((id) => [index.nameOf(id), id]))
  const madeMethods = new Map(classIds.map((id) => [id, compiled.madeMethods(id)]))
  const nest = new Map<string, Use[]>()
  let count = 0
  const add = (key: string, use: Use): void => {
    const others = nest.get(key)
    if (others === undefined) nest.set(key, [use])
    else others.push(use)
  }
  for (const classId of classIds) {
    const { facts, row } = compiled.read(classId)
    const { classes, methods, calls, dynamicCalls, fieldAccesses, typeReferences, strings } = facts
    const own = compiled.methodsOf(classId)
    const targets = new Map<number, number>()
    const targetOf = (name = -1): number => {
      let target = targets.get(name)
      if (target === undefined)
        targets.set(name, (target = name < 0 ? -1 : (byName.get(strings.get(name)) ?? -1)))
      return target
    }
    for (const method of rows(classes.firstMethod, row)) {
      count += codeRows(facts, method)
      if (own.isRepeated(method)) continue
      const use = (owner: number | undefined, line: number | undefined, name = -1, descriptor = -1): void => {
        const target = targetOf(owner)
        if (target < 0) return
        const found = { classId, method, line: lineOf(line) }
        if (index.isMade(target)) {
          if (target !== classId) add(`${target}`, found)
          return
        }
        const made = madeMethods.get(target)
        if (made === undefined || made.size === 0 || name < 0) return
        const called = made.get(`${strings.get(name)} ${strings.get(descriptor)}`)
        if (called !== undefined) add(`${target} ${called}`, found)
      }
      for (const at of rows(methods.firstCall, method))
        use(calls.owner[at], calls.line[at], calls.name[at], calls.descriptor[at])
      for (const at of rows(methods.firstDynamicCall, method)) {
        const { handleOwner, handleName, handleDescriptor, line } = dynamicCalls
        use(handleOwner[at], line[at], handleName[at], handleDescriptor[at])
      }
      for (const at of rows(methods.firstFieldAccess, method))
        use(fieldAccesses.owner[at], fieldAccesses.line[at])
      for (const at of rows(methods.firstTypeReference, method))
        use(typeReferences.name[at], typeReferences.line[at])
    }
  }
  return { uses: nest, left: sharedRows(count) }
}

/** Returns the internal name of the top-level class around a class, by its name. */
export function topLevelOf(name: string): string {
  // The first letter of a name can be "$".
  const dollar = name.indexOf('$', name.lastIndexOf('/') + 2)
  return dollar < 0 ? name : name.slice(0, dollar)
}
