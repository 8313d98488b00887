import { ACC } from '../../bytecode/access-flags.ts'
import { fault } from '../../errors.ts'
import { endOf, methodsOf } from '../paths/path-end.ts'
import type { Snapshot } from '../snapshot.ts'
import { findRoots, type Root } from './find-roots.ts'
import type { ProjectCode } from './project-code.ts'
import { ROOT_KINDS } from './root-table.ts'
import type { Start } from './traverse.ts'

/** Roots of a search that names none: every entry point that is found. */
export const DEFAULT_ROOTS = 'auto'
const PUBLIC = 'public'

/** Returns the items of a comma-separated list. */
export function listed(text: string): readonly string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

/**
 * Returns the roots that a list names: `auto` for all entry points, a kind of entry points, `public` for the
 * API of a library, a class for all of its methods, or `owner#method`.
 *
 * @throws BAD_REQUEST, CLASS_NOT_FOUND and METHOD_NOT_FOUND
 */
export function* rootsNamed(
  snapshot: Snapshot,
  code: ProjectCode,
  names: readonly string[],
): Generator<void, readonly Root[]> {
  if (names.length === 0) throw fault('BAD_REQUEST', 'name at least one root')
  const kinds = new Set<string>(names.includes(DEFAULT_ROOTS) ? ROOT_KINDS : names)
  const isKind = (name: string): boolean => name === DEFAULT_ROOTS || ROOT_KINDS.some((kind) => kind === name)
  const found = names.some(isKind) ? yield* findRoots(snapshot, code) : []
  const roots: Root[] = found.filter(({ kind }) => kinds.has(kind))
  for (const name of names) {
    yield
    if (name === PUBLIC) yield* addPublicRoots(snapshot, code, roots)
    else if (!isKind(name)) roots.push(givenRoot(snapshot, code, name))
  }
  return roots
}

/** Returns where a traversal from roots starts. */
export function startOf(roots: readonly Root[]): Start {
  return {
    methods: roots.flatMap(({ methods }, root) => methods.map((method) => [method, root] as const)),
    classes: roots.flatMap(({ classId, isCreated }, root) => (isCreated ? [[classId, root] as const] : [])),
  }
}

function givenRoot(snapshot: Snapshot, code: ProjectCode, name: string): Root {
  const end = endOf(snapshot, name)
  const classId = snapshot.getClass(end.fqn)
  if (!code.includes(classId))
    throw fault('BAD_REQUEST', `${end.fqn} is not in the project; a search from it has to include libraries`)
  const { graph } = code
  const methods = methodsOf(snapshot, graph, end).filter((method) => code.classOf(method) >= 0)
  const needsObject = methods.some((method) => (graph.flagsOf(method) & ACC.STATIC) === 0)
  return {
    kind: 'given',
    reason: end.label,
    classId,
    methods,
    isCreated: needsObject && isConcrete(snapshot, classId),
  }
}

/** Adds what another program can call or extend: public and protected methods of public classes. */
function* addPublicRoots(snapshot: Snapshot, code: ProjectCode, roots: Root[]): Generator<void, void> {
  for (const classId of snapshot.index.ofProject()) {
    yield
    if ((flagsOf(snapshot, classId) & ACC.PUBLIC) === 0) continue
    const methods = code.graph.methodsOf(classId).filter((method) => {
      const flags = code.graph.flagsOf(method)
      return (flags & (ACC.PUBLIC | ACC.PROTECTED)) !== 0 && (flags & ACC.SYNTHETIC) === 0
    })
    const isCreated = isConcrete(snapshot, classId)
    roots.push({ kind: PUBLIC, reason: 'public API', classId, methods, isCreated })
  }
}

function isConcrete(snapshot: Snapshot, classId: number): boolean {
  return (flagsOf(snapshot, classId) & (ACC.ABSTRACT | ACC.INTERFACE)) === 0
}

function flagsOf(snapshot: Snapshot, classId: number): number {
  const { digest, firstClass } = snapshot.index.sliceOf(classId)
  return digest.classes.accessFlags[classId - firstClass] ?? 0
}
