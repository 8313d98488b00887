import { ACC } from '../../bytecode/access-flags.ts'
import { fault } from '../../errors.ts'
import { callingClasses } from '../calls/callers.ts'
import { checkMethod } from '../calls/check-method.ts'
import { toFqn } from '../names.ts'
import type { Snapshot } from '../snapshot.ts'
import { allSupertypes } from '../types/subtypes.ts'
import { WrittenCode } from '../written/written-code.ts'
import type { CallGraph } from './call-graph.ts'

/** A class or method that a query names. */
export interface PathEnd {
  readonly label: string
  readonly fqn: string
  /** Id of the type's name. */
  readonly type: number
  /** Undefined if it is not on the class path. */
  readonly classId: number | undefined
  /** Undefined for all methods of the class. */
  readonly method: string | undefined
}

/** Parses a class or `owner#method`. @throws BAD_REQUEST and CLASS_NOT_FOUND */
export function endOf(snapshot: Snapshot, written: string): PathEnd {
  const [, owner, method] = /^([^#]+)(?:#(.+))?$/.exec(written) ?? []
  if (owner === undefined) {
    throw fault(
      'BAD_REQUEST',
      `"${written}" is not a class or method; write a class or owner#method, for example java.util.List#add`,
    )
  }
  const type = snapshot.getType(owner)
  const fqn = toFqn(snapshot.index.names.get(type))
  const label = method === undefined ? fqn : `${fqn}#${method}`
  return { label, fqn, type, classId: snapshot.index.findByNameId(type), method }
}

/**
 * Returns the methods that an end means, without those that are not on the class path. Of a class,
 * those that a person wrote or can call: what else a compiler made counts for them.
 *
 * @throws METHOD_NOT_FOUND when nothing declares or calls the method
 */
export function methodsOf(snapshot: Snapshot, graph: CallGraph, end: PathEnd): readonly number[] {
  const { type, classId, method } = end
  if (method === undefined) {
    if (classId === undefined) return []
    if (snapshot.index.isMade(classId)) return graph.methodsOf(classId)
    const code = WrittenCode.of(snapshot)
    return graph.methodsOf(classId).filter((each) => {
      const { row } = graph.placeOf(each)
      return (
        !code.isMade(classId, row) || (code.isAlias(classId, row) && targetOf(snapshot, graph, each) === each)
      )
    })
  }
  const above = allSupertypes(snapshot, type)
  const name = snapshot.index.names.find(method)
  const found = name === undefined ? [] : graph.methodsNamed(type, above, name)
  if (found.length === 0 && callingClasses(snapshot, new Set([type]), name).length === 0)
    checkMethod(snapshot, { owner: type, above, name: method, descriptor: undefined })
  return [...new Set(found.map((each) => targetOf(snapshot, graph, each)))]
}

/** Returns the methods of an end from which code starts: of a class, those that a person wrote. @throws as `methodsOf` */
export function startsOf(snapshot: Snapshot, graph: CallGraph, end: PathEnd): readonly number[] {
  const all = methodsOf(snapshot, graph, end)
  const { classId, method } = end
  if (method !== undefined || classId === undefined || snapshot.index.isMade(classId)) return all
  return all.filter((each) => (graph.flagsOf(each) & ACC.SYNTHETIC) === 0)
}

/** Returns the method of its class that a bridge stands for; any other itself. */
function targetOf(snapshot: Snapshot, graph: CallGraph, method: number): number {
  const code = WrittenCode.of(snapshot)
  const { slice, classId, row } = graph.placeOf(method)
  if (!code.isAlias(classId, row)) return method
  const { methods, strings } = snapshot.facts(slice)
  const called = code.calledAs({
    owner: snapshot.index.nameOf(classId),
    name: strings.get(methods.name[row] ?? 0),
    descriptor: strings.get(methods.descriptor[row] ?? 0),
  })
  const [owner, name] = [called.owner, called.name].map((text) => snapshot.index.names.find(text))
  const descriptor = graph.descriptors.find(called.descriptor)
  if (owner === undefined || name === undefined || descriptor === undefined) return method
  return graph.resolve(owner, name, descriptor) ?? method
}
