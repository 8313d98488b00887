import { isFault } from '../../../lib/errors/fault.ts'
import { endOf, methodsOf } from '../paths/path-end.ts'
import { partsOf } from '../paths/slice-calls.ts'
import type { Snapshot } from '../snapshot.ts'
import type { ProjectCode } from './project-code.ts'
import type { Traversal } from './traverse.ts'

/** A class or method that a search looks for. */
export interface Target {
  readonly label: string
  /** Its methods in scope. */
  readonly methods: readonly number[]
  /** Call sites that reach its methods outside. */
  readonly sites: readonly TargetSite[]
  /** Why it cannot be reached: nothing declares or mentions it. */
  readonly absent: string | undefined
}

/** A call site in reached code that calls a method outside. */
export interface TargetSite {
  readonly site: number
  /** Whether the called type declares or inherits the method. */
  readonly isDirect: boolean
  /** -1 if it is not on the class path. */
  readonly method: number
}

/** A method outside, and the types on which a call reaches it. */
interface Outside {
  readonly target: number
  readonly method: number
  readonly inheriting: ReadonlySet<number>
  readonly dispatching: ReadonlySet<number>
}

/**
 * Finds the targets that names denote, and the call sites in reached code that reach those outside of the
 * code that the traversal follows. Dispatched calls count by class hierarchy analysis there, because code
 * outside may create any object.
 *
 * @throws BAD_REQUEST for a name that is not a class or method
 */
export function* findTargets(
  snapshot: Snapshot,
  code: ProjectCode,
  traversal: Traversal,
  names: readonly string[],
): Generator<void, readonly Target[]> {
  const sites: TargetSite[][] = names.map(() => [])
  const bySignature = new Map<number, Outside[]>()
  /** Targets that are not on the class path, by type. */
  const unread = new Map<number, { readonly target: number; readonly name: number | undefined }[]>()
  const targets: Resolved[] = []
  for (const [target, name] of names.entries()) {
    yield
    const found = resolved(snapshot, code, name)
    targets.push(found)
    for (const method of found.methods) {
      if (code.classOf(method) >= 0) continue
      const receivers = yield* code.graph.receiversOf(method)
      const signature = code.graph.signatureOf(method)
      const others = bySignature.get(signature) ?? []
      others.push({ target, method, ...receivers })
      bySignature.set(signature, others)
    }
    if (found.type !== undefined && found.methods.length === 0) {
      const others = unread.get(found.type) ?? []
      others.push({ target, name: found.name })
      unread.set(found.type, others)
    }
  }
  if (bySignature.size > 0 || unread.size > 0)
    for (let site = 0; site < code.siteCount; site++) {
      if (site % 256 === 0) yield
      if (traversal.callerOf(site) < 0) continue
      const { owner, isDispatched, signature } = code.siteOf(site)
      for (const { target, method, inheriting, dispatching } of bySignature.get(signature) ?? []) {
        const isDirect = inheriting.has(owner)
        if (isDirect || (isDispatched && dispatching.has(owner)))
          sites[target]?.push({ site, isDirect, method })
      }
      for (const { target, name } of unread.get(owner) ?? [])
        if (name === undefined || partsOf(signature).name === name)
          sites[target]?.push({ site, isDirect: true, method: -1 })
    }
  return targets.map(({ label, methods, absent }, at) => ({
    label,
    methods: methods.filter((method) => code.classOf(method) >= 0),
    sites: sites[at] ?? [],
    absent,
  }))
}

interface Resolved extends Omit<Target, 'sites'> {
  /** Ids of names: the type and the method that only calls name. */
  readonly type?: number
  readonly name?: number | undefined
}

/** @throws BAD_REQUEST */
function resolved(snapshot: Snapshot, code: ProjectCode, written: string): Resolved {
  try {
    const end = endOf(snapshot, written)
    const { label, type, method } = end
    const name = method === undefined ? undefined : snapshot.index.names.find(method)
    return { label, type, name, methods: methodsOf(snapshot, code.graph, end), absent: undefined }
  } catch (error) {
    if (!isFault(error) || error.kind !== 'missing') throw error
    return { label: written, methods: [], absent: error.message }
  }
}
