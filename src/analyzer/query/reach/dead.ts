import { counted } from '../../../lib/cli/counted.ts'
import { ACC } from '../../bytecode/access-flags.ts'
import { lineOf, simpleNameOf } from '../names.ts'
import { pageOf, type Paging } from '../paging.ts'
import type { RunSearch } from '../search-queue.ts'
import type { Snapshot } from '../snapshot.ts'
import { allSubtypes } from '../types/subtypes.ts'
import { NOWHERE } from '../written/attribution.ts'
import { WrittenCode } from '../written/written-code.ts'
import { type DeadClass, DeadCode } from './dead-code.ts'
import { ReachSteps } from './reach-step.ts'
import { countsOf, noteOf, type ReachedCode, type ReachFilter, reachFrom } from './reach.ts'

/** A method or field that is dead, in a class that is not. */
interface DeadMember {
  readonly kind: 'method' | 'constructor' | 'field'
  readonly name: string
  readonly descriptor: string
  readonly lineNumber: number | null
  readonly reason: string
}

/** A class with dead code. */
export interface DeadClassView {
  readonly classFqn: string
  /** Whether nothing of it is used; `members` is then empty. */
  readonly isDead: boolean
  /** Why it is dead, null if it is not. */
  readonly reason: string | null
  readonly members: readonly DeadMember[]
}

/**
 * Returns the project's classes, methods and fields that cannot be reached from the roots in `from`, a
 * comma-separated list, by class. Without roots, nothing is listed.
 *
 * @throws BAD_REQUEST, CLASS_NOT_FOUND, METHOD_NOT_FOUND, and the errors of `run`
 */
export function deadOf(
  snapshot: Snapshot,
  from: string,
  { analysis }: Pick<ReachFilter, 'analysis'>,
  paging: Paging,
  run: RunSearch,
) {
  return run(search(snapshot, from, { analysis, includeLibraries: false }, paging))
}

function* search(snapshot: Snapshot, from: string, filter: ReachFilter, paging: Paging) {
  const reached = yield* reachFrom(snapshot, from, filter)
  const { roots, traversal } = reached
  const dead = yield* DeadCode.find(snapshot, reached)
  const found = roots.length === 0 ? [] : dead.classes
  const view = new DeadView(snapshot, reached, dead)
  const { rows, ...page } = pageOf(found, paging, (each) => each)
  const classes: DeadClassView[] = []
  for (const each of rows) {
    yield
    classes.push(view.classView(each))
  }
  const deadClassCount = found.filter(({ isDead }) => isDead).length
  const deadMethodCount = found.reduce((sum, { methods }) => sum + methods.length, 0)
  const deadFieldCount = found.reduce((sum, { fields }) => sum + fields.length, 0)
  const counts = [
    counted(deadClassCount, 'dead class', 'dead classes'),
    counted(deadMethodCount, 'dead method'),
    counted(deadFieldCount, 'dead field'),
  ]
  return {
    classes,
    ...page,
    deadClassCount,
    deadMethodCount,
    deadFieldCount,
    rootCounts: countsOf(roots),
    reachedMethodCount: traversal.reached.length,
    note: `${roots.length === 0 ? 'nothing is listed' : counts.join(', ')}; ${noteOf(reached, filter)}`,
    appliedFilter: { from, analysis: filter.analysis },
  }
}

/** Describes dead code. */
class DeadView {
  readonly #snapshot: Snapshot
  readonly #reached: ReachedCode
  readonly #dead: DeadCode

  constructor(snapshot: Snapshot, reached: ReachedCode, dead: DeadCode) {
    this.#snapshot = snapshot
    this.#reached = reached
    this.#dead = dead
  }

  classView({ classId, isDead, methods, fields }: DeadClass): DeadClassView {
    return {
      classFqn: this.#snapshot.fqnOf(classId),
      isDead,
      reason: isDead ? this.#classReason(classId) : null,
      members: [
        ...methods.map((method) => this.#methodView(classId, method)),
        ...fields.map((field) => this.#fieldView(classId, field)),
      ],
    }
  }

  #classReason(classId: number): string {
    const { index } = this.#snapshot
    const name = index.nameOf(classId)
    let dead: string | undefined
    for (const { id: compiled } of index.usesOf(index.nameIdOf(classId))) {
      const id = WrittenCode.of(this.#snapshot).classOf(compiled)
      if (id === NOWHERE) continue
      const user = index.nameOf(id)
      if (id === classId || user.startsWith(`${name}$`) || !this.#reached.code.includes(id)) continue
      const fqn = this.#snapshot.fqnOf(id)
      if (!this.#dead.isDead(id))
        return `mentioned by ${fqn}, but no reached code creates it or uses a member`
      dead ??= fqn
    }
    return dead === undefined ? 'nothing refers to it' : `used only in dead code: ${dead}`
  }

  #methodView(classId: number, method: number): DeadMember {
    const { slice, row } = this.#reached.code.graph.placeOf(method)
    const { methods, strings } = this.#snapshot.facts(slice)
    const name = strings.get(methods.name[row] ?? 0)
    return {
      kind: name === '<init>' ? 'constructor' : 'method',
      name,
      descriptor: strings.get(methods.descriptor[row] ?? 0),
      lineNumber: lineOf(methods.firstLine[row]),
      reason: this.#methodReason(classId, method, name),
    }
  }

  #methodReason(classId: number, method: number, name: string): string {
    const caller = this.#callerOf(method)
    if (caller !== undefined) return `called only from dead code: ${caller}`
    const isStatic = (this.#reached.code.graph.flagsOf(method) & ACC.STATIC) !== 0
    if (name !== '<init>' && !isStatic && !this.#hasObjects(classId))
      return `nobody calls it, and no reached code creates a ${simpleNameOf(this.#snapshot.fqnOf(classId))}`
    return 'nobody calls it'
  }

  /** Returns the label of a dead method that calls another, maybe by a bridge. */
  #callerOf(method: number): string | undefined {
    const { graph } = this.#reached.code
    const code = WrittenCode.of(this.#snapshot)
    const seen = new Set([method])
    let caller = this.#dead.deadCallerOf(method)
    while (caller !== undefined && !seen.has(caller)) {
      const { classId, row } = graph.placeOf(caller)
      if (!code.isAlias(classId, row)) return this.#labelOf(caller)
      seen.add(caller)
      caller = this.#dead.deadCallerOf(caller)
    }
    return undefined
  }

  /** Whether reached code creates objects of a class or its subclasses. */
  #hasObjects(classId: number): boolean {
    const { traversal } = this.#reached
    const below = allSubtypes(this.#snapshot, this.#snapshot.index.nameIdOf(classId)).keys()
    return traversal.isCreated(classId) || [...below].some((each) => traversal.isCreated(each))
  }

  #fieldView(classId: number, field: number): DeadMember {
    const slice = this.#snapshot.index.sliceOf(classId)
    const { fields, strings } = this.#snapshot.facts(slice)
    const nameId = this.#dead.fields.nameOf(slice, field)
    const deadUser = this.#dead.fields.deadUserOf(classId, nameId)
    const isWritten = this.#dead.fields.isWritten(classId, nameId)
    const unread =
      deadUser === undefined ? 'nobody reads it' : `used only in dead code: ${this.#labelOf(deadUser)}`
    return {
      kind: 'field',
      name: strings.get(fields.name[field] ?? 0),
      descriptor: strings.get(fields.descriptor[field] ?? 0),
      lineNumber: null,
      reason: isWritten ? 'written, but never read' : unread,
    }
  }

  #labelOf(method: number): string {
    const { fqn, name } = new ReachSteps(this.#snapshot, this.#reached.code).methodView(method)
    return `${fqn}#${name}`
  }
}
