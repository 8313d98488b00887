import { lineOf, toFqn } from '../names.ts'
import {
  calleeFields,
  callerFields,
  IN_LAMBDA,
  callsOf,
  type MethodView,
  type PathStep,
  reasonOf,
  viewOfMethod,
} from '../paths/path-step.ts'
import { partsOf } from '../paths/slice-calls.ts'
import type { Snapshot } from '../snapshot.ts'
import { sourceFileOf } from '../source-file-of.ts'
import { CLASS_ITSELF } from '../written/attribution.ts'
import { WrittenCode } from '../written/written-code.ts'
import type { Root } from './find-roots.ts'
import type { ProjectCode } from './project-code.ts'
import type { Cause, Traversal } from './traverse.ts'

/** A step from a root to a target. Steps that are not calls have the line of their caller's first one. */
export interface ReachStep extends Omit<PathStep, 'via'> {
  readonly via: PathStep['via'] | 'initializer' | 'callback' | 'reflection'
  /** Source file of the caller, relative to its source folder; null if the class file names none. */
  readonly sourceFile: string | null
}

/** The root of a path. */
export interface RootView {
  readonly kind: Root['kind']
  readonly reason: string
  readonly classFqn: string
}

/** A step by which a method is reached. */
export type ReachedBy = Exclude<Cause, { readonly is: 'root' }>

const REASONS: Readonly<Record<Exclude<ReachedBy['is'], 'call'>, (callee: MethodView) => string>> = {
  initializer: ({ fqn }) => `static initializer of ${fqn}`,
  callback: ({ name }) => `callback: creates the object, whose ${name} code outside can call`,
  reflection: ({ fqn, name }) =>
    `reflection: ${name === '<init>' ? `can create a ${fqn}` : `can find ${name}`} by its name or literal`,
}

/** A step between methods as they were compiled. */
interface CompiledStep<Step> {
  readonly from: number
  /** -1 if it is not on the class path. */
  readonly to: number
  readonly step: Step
}

/** Describes steps between methods. */
export class ReachSteps {
  readonly #snapshot: Snapshot
  readonly #code: ProjectCode
  readonly #written: WrittenCode

  constructor(snapshot: Snapshot, code: ProjectCode) {
    this.#snapshot = snapshot
    this.#code = code
    this.#written = WrittenCode.of(snapshot)
  }

  /** Joins the steps of a path through methods that a compiler made. */
  joined<Step extends Omit<ReachStep, 'via'> & { readonly via: string }>(
    path: readonly CompiledStep<Step>[],
  ): readonly Step[] {
    const steps: Step[] = []
    let first: Step | undefined
    /** The last one from code with lines of its file, which accessors do not have. */
    let located: Step | undefined
    for (const [at, { from, to, step }] of path.entries()) {
      const isLast = at === path.length - 1
      if (located === undefined || !this.#isAccessor(from)) located = step
      if (first === undefined && this.#isMade(from))
        first = { ...step, ...this.callerFields(from), via: 'lambda' }
      if (!isLast && this.#isMade(to)) {
        first ??= step
        continue
      }
      const joined =
        first === undefined ? step : this.#join(first, { ...step, lineNumber: located.lineNumber })
      const shown = isLast && this.#isMade(to) ? { ...joined, ...calleeFields(this.methodView(to)) } : joined
      first = undefined
      located = undefined
      const isRepeated =
        shown.calleeFqn === shown.classFqn &&
        shown.calleeName === shown.methodName &&
        shown.descriptor === shown.methodDescriptor
      if (shown === step || !isRepeated) steps.push(shown)
    }
    return steps
  }

  /** Returns a step by the caller of the first of some steps to the callee of the last. */
  #join<Step extends Omit<ReachStep, 'via'> & { readonly via: string }>(first: Step, last: Step): Step {
    const { classFqn, classSimpleName, classSource, methodName, methodDescriptor, sourceFile } = first
    const caller = { classFqn, classSimpleName, classSource, methodName, methodDescriptor, sourceFile }
    const { calleeFqn, calleeSource, calleeName, descriptor } = last
    if (first.via === 'call' || first.via === 'methodRef')
      return { ...first, calleeFqn, calleeSource, calleeName, descriptor }
    const isInLambda = first.via === 'lambda' && (last.via === 'call' || last.via === 'methodRef')
    if (!isInLambda) return { ...last, ...caller }
    return { ...last, ...caller, via: 'lambda', reason: `${last.reason}${IN_LAMBDA}` }
  }

  #isMade(method: number): boolean {
    if (method < 0) return false
    const { classId, row } = this.#code.graph.placeOf(method)
    return this.#written.isMade(classId, row)
  }

  /** Whether the code of a method is where others use it. */
  #isAccessor(method: number): boolean {
    const { classId, row } = this.#code.graph.placeOf(method)
    return this.#written.placesOf(classId, row).some(({ line }) => line !== undefined)
  }

  /**
   * Returns the written method for which one counts first; itself if it is written, or if its class has the
   * method of another by it.
   */
  writtenOf(method: number): { readonly classId: number; readonly row: number } | undefined {
    const { classId, row } = this.#code.graph.placeOf(method)
    if (!this.#isMade(method)) return { classId, row }
    const [place] = this.#written.placesOf(classId, row)
    if (place === undefined) return undefined
    const isInherited = place.method === CLASS_ITSELF && this.#written.isAlias(classId, row)
    return isInherited ? { classId, row } : { classId: place.classId, row: place.method }
  }

  /** Describes the step to a method. */
  stepOf(cause: ReachedBy, method: number): ReachStep {
    const callee = this.methodView(method)
    if (cause.is === 'call') {
      const isDirect = this.#code.targetOf(cause.site) === method
      return { ...this.callStep(cause.from, cause.site, isDirect), ...calleeFields(callee) }
    }
    return {
      ...this.callerFields(cause.from),
      ownerType: callee.fqn,
      lineNumber: null,
      via: cause.is,
      reason: REASONS[cause.is](callee),
      ...calleeFields(callee),
    }
  }

  /** Describes a call, without the method that it reaches. */
  callStep(from: number, site: number, isDirect: boolean) {
    const { slice, classId, row } = this.#code.graph.placeOf(from)
    const facts = this.#snapshot.facts(slice)
    const { name, descriptor } = partsOf(this.#code.siteOf(site).signature)
    const [nameText, descriptorText] = [
      this.#snapshot.index.names.get(name),
      this.#code.graph.descriptorText(descriptor),
    ]
    const owner = this.#ownerOf(site)
    const call = callsOf(facts, classId - slice.firstClass, row).find(
      (each) => each.owner === owner && each.name === nameText && each.descriptor === descriptorText,
    ) ?? { owner, name: nameText, descriptor: descriptorText, line: undefined, via: 'call' as const }
    return {
      ...this.callerFields(from),
      ownerType: toFqn(owner),
      lineNumber: lineOf(call.line),
      via: call.via,
      reason: reasonOf(call, !isDirect),
    }
  }

  #ownerOf(site: number): string {
    return this.#snapshot.index.names.get(this.#code.siteOf(site).owner)
  }

  /** Describes a method as the caller of a step. */
  callerFields(method: number) {
    const { classId } = this.writtenOf(method) ?? this.#code.graph.placeOf(method)
    return {
      ...callerFields(this.methodView(method)),
      sourceFile: sourceFileOf(this.#snapshot, classId),
    }
  }

  /** Describes a method on the class path: the written one for which it counts. */
  methodView(method: number): MethodView {
    const written = this.writtenOf(method)
    if (written === undefined) return viewOfMethod(this.#snapshot, this.#code.graph, method)
    const { classId, row } = written
    const slice = this.#snapshot.index.sliceOf(classId)
    const fqn = this.#snapshot.fqnOf(classId)
    if (row === CLASS_ITSELF) return { fqn, source: slice.source, name: '<clinit>', descriptor: '()V' }
    return viewOfMethod(this.#snapshot, this.#code.graph, this.#code.graph.firstMethodOf(slice) + row)
  }
}

/** Describes how a traversal reached a method. */
export class ReachView extends ReachSteps {
  readonly #snapshot: Snapshot
  readonly #roots: readonly Root[]
  readonly #traversal: Traversal

  constructor(snapshot: Snapshot, code: ProjectCode, traversal: Traversal, roots: readonly Root[]) {
    super(snapshot, code)
    this.#snapshot = snapshot
    this.#traversal = traversal
    this.#roots = roots
  }

  /** Returns the path of a reached method, from its root. */
  pathOf(method: number): { readonly root: RootView; readonly steps: readonly ReachStep[] } {
    const { root, path } = this.#compiledPathOf(method)
    return { root, steps: this.joined(path) }
  }

  #compiledPathOf(method: number) {
    const path: CompiledStep<ReachStep>[] = []
    let [at, cause] = [method, this.#causeOf(method)]
    while (cause.is !== 'root') {
      path.push({ from: cause.from, to: at, step: this.stepOf(cause, at) })
      at = cause.from
      cause = this.#causeOf(at)
    }
    return { root: this.#rootView(cause.root), path: path.toReversed() }
  }

  /** Returns the path that ends with a call site in reached code, which calls a method outside. */
  pathTo(site: number, isDirect: boolean, callee: MethodView) {
    const from = this.#traversal.callerOf(site)
    const { root, path } = this.#compiledPathOf(from)
    const step = { ...this.callStep(from, site, isDirect), ...calleeFields(callee) }
    return { root, steps: this.joined([...path, { from, to: -1, step }]) }
  }

  /** Returns the number of steps of a reached method's path. */
  lengthOf(method: number): number {
    let length = 0
    for (let cause = this.#causeOf(method); cause.is !== 'root'; cause = this.#causeOf(cause.from)) length++
    return length
  }

  #causeOf(method: number): Cause {
    const cause = this.#traversal.causeOf(method)
    if (cause === undefined) throw new RangeError(`method ${method} is not reached`)
    return cause
  }

  #rootView(root: number): RootView {
    const found = this.#roots[root]
    if (found === undefined) throw new RangeError(`root ${root} does not exist`)
    const { kind, reason, classId } = found
    return { kind, reason, classFqn: this.#snapshot.fqnOf(classId) }
  }
}
