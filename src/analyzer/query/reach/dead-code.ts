import { ACC } from '../../bytecode/access-flags.ts'
import { TARGET, TRAIT } from '../../bytecode/columns.ts'
import { type Facts, rows } from '../../bytecode/facts.ts'
import type { IndexedSlice } from '../../index/indexed-slice.ts'
import type { Snapshot } from '../snapshot.ts'
import { allSupertypes } from '../types/subtypes.ts'
import { FieldUses } from './field-uses.ts'
import type { ProjectCode } from './project-code.ts'
import type { ReachedCode } from './reach.ts'
import type { Traversal } from './traverse.ts'

/** Dead code of a class. */
export interface DeadClass {
  readonly classId: number
  /** Whether nothing of it is used; its members are then not listed. */
  readonly isDead: boolean
  readonly methods: readonly number[]
  /** Rows in the slice's facts. */
  readonly fields: readonly number[]
}

/** Dead code of a project, and what its reasons need. */
export class DeadCode {
  readonly classes: DeadClass[] = []
  readonly fields: FieldUses
  /** Names of fields that reached code looks up. */
  readonly #looked = new Set<string>()
  /** Names of fields that annotations name, by class. */
  readonly #annotated = new Map<number, ReadonlySet<string>[]>()
  /** First caller in dead code of each call site, or -1. */
  readonly #deadCaller: Int32Array
  /** First caller in dead code of each method that dead code calls. */
  readonly #callerOf = new Map<number, number>()
  /** 1 for classes that reached code uses in any way, and for their supertypes. */
  readonly #isUsed: Uint8Array
  readonly #snapshot: Snapshot
  readonly #code: ProjectCode
  readonly #traversal: Traversal

  private constructor(snapshot: Snapshot, { code, traversal }: ReachedCode, fields: FieldUses) {
    this.#snapshot = snapshot
    this.#code = code
    this.#traversal = traversal
    this.#deadCaller = new Int32Array(code.siteCount).fill(-1)
    this.#isUsed = new Uint8Array(snapshot.index.classCount)
    this.fields = fields
  }

  /** Finds the project's classes, methods and fields that a traversal did not reach. */
  static *find(snapshot: Snapshot, reached: ReachedCode): Generator<void, DeadCode> {
    const dead = new DeadCode(snapshot, reached, yield* FieldUses.read(snapshot, reached.code))
    yield* dead.#readReached()
    yield* dead.#readDead()
    for (const classId of snapshot.index.ofProject()) {
      yield
      dead.#add(classId)
    }
    return dead
  }

  /** Whether nothing of a class is used. */
  isDead(classId: number): boolean {
    return this.#isUsed[classId] !== 1
  }

  /** Returns a dead method that calls a dead one, or undefined. */
  deadCallerOf(method: number): number | undefined {
    return this.#callerOf.get(method)
  }

  /** Marks what reached code uses. */
  *#readReached(): Generator<void, void> {
    const { index } = this.#snapshot
    for (const method of this.#traversal.reached) {
      yield
      this.#use(this.#code.classOf(method))
      for (const type of this.#code.typesIn(method)) this.#useType(type)
      for (const field of this.#code.fieldsIn(method)) this.fields.use(field, method, true)
      for (const name of this.#code.namesIn(method)) this.#looked.add(name)
    }
    for (let site = 0; site < this.#code.siteCount; site++) {
      if (site % 256 === 0) yield
      if (this.#traversal.callerOf(site) >= 0) this.#useType(this.#code.siteOf(site).owner)
    }
    yield
    for (const classId of index.ofProject())
      if (this.#traversal.isCreated(classId) || this.#traversal.isInitialized(classId)) this.#use(classId)
    // A class without a used member holds used classes.
    for (const classId of index.ofProject()) {
      yield
      if (this.isDead(classId)) continue
      for (const { classId: owner, names } of this.#code.annotatedMembersOf(classId))
        this.#annotated.set(owner, [...(this.#annotated.get(owner) ?? []), names])
      const name = index.nameOf(classId)
      for (let at = name.lastIndexOf('$'); at > 0; at = name.lastIndexOf('$', at - 1)) {
        const outer = index.find(name.slice(0, at))
        if (outer !== undefined) this.#use(outer)
      }
    }
  }

  #useType(type: number): void {
    const classId = this.#snapshot.index.findByNameId(type)
    if (classId !== undefined) this.#use(classId)
  }

  #use(classId: number): void {
    if (classId < 0 || !this.isDead(classId)) return
    this.#isUsed[classId] = 1
    if (!this.#code.includes(classId)) return
    for (const type of allSupertypes(this.#snapshot, this.#snapshot.index.nameIdOf(classId))) {
      const above = this.#snapshot.index.findByNameId(type)
      if (above !== undefined) this.#isUsed[above] = 1
    }
  }

  /** Notes what dead code calls and reads. */
  *#readDead(): Generator<void, void> {
    for (let method = 0; method < this.#code.methodCount; method++) {
      if (method % 256 === 0) yield
      if (this.#code.classOf(method) < 0 || this.#traversal.isReached(method)) continue
      yield
      for (const field of this.#code.fieldsIn(method)) this.fields.use(field, method, false)
      for (const site of this.#code.usesOf(method).sites) {
        this.#note(this.#code.targetOf(site), method)
        if (this.#deadCaller[site] !== -1) continue
        this.#deadCaller[site] = method
        const type = this.#code.receiverOf(site)
        if (type >= 0)
          yield* this.#code.forEachSubtype(type, (classId) =>
            this.#note(this.#code.implementationOf(site, classId), method),
          )
      }
    }
  }

  #note(callee: number, caller: number): void {
    if (callee >= 0 && callee !== caller && !this.#callerOf.has(callee)) this.#callerOf.set(callee, caller)
  }

  #add(classId: number): void {
    const slice = this.#snapshot.index.sliceOf(classId)
    const facts = this.#snapshot.facts(slice)
    const row = classId - slice.firstClass
    if (!isJudged(facts, row)) return
    if (this.isDead(classId)) {
      const outer = this.#outerOf(facts, row)
      if ((outer === undefined || !this.isDead(outer)) && !isOfConstants(facts, row))
        this.classes.push({ classId, isDead: true, methods: [], fields: [] })
      return
    }
    const methods = this.#code.graph.methodsOf(classId).filter((method) => {
      if (this.#traversal.isReached(method)) return false
      return isWritten(facts, row, this.#code.graph.placeOf(method).row)
    })
    const fields = this.#deadFields(slice, facts, classId)
    if (methods.length + fields.length > 0) this.classes.push({ classId, isDead: false, methods, fields })
  }

  #outerOf({ classes, strings }: Facts, row: number): number | undefined {
    const outer = classes.outerClass[row] ?? -1
    return outer < 0 ? undefined : this.#snapshot.index.find(strings.get(outer))
  }

  #deadFields(slice: IndexedSlice, facts: Facts, classId: number): readonly number[] {
    const row = classId - slice.firstClass
    const serializable = this.#snapshot.index.names.find('java/io/Serializable') ?? -1
    const above = allSupertypes(this.#snapshot, this.#snapshot.index.nameIdOf(classId))
    const annotated = annotatedFields(facts, row)
    return rows(facts.classes.firstField, row).filter((field) => {
      const flags = facts.fields.accessFlags[field] ?? 0
      if ((flags & (ACC.SYNTHETIC | ACC.ENUM)) !== 0 || (facts.fields.constantKind[field] ?? 0) !== 0)
        return false
      // Frameworks read and write annotated fields, and serialization those that are not transient.
      if (annotated.has(field) || isRecord(facts, row)) return false
      if (above.has(serializable) && (flags & (ACC.STATIC | TRANSIENT)) === 0) return false
      return (
        !this.#isFoundByName(classId, facts, field) &&
        !this.fields.isRead(classId, this.fields.nameOf(slice, field))
      )
    })
  }

  /** Whether reflection, an annotation or serialization reads a field. */
  #isFoundByName(classId: number, { fields, strings }: Facts, field: number): boolean {
    const name = strings.get(fields.name[field] ?? 0)
    if (this.#looked.has(name) || this.#annotated.get(classId)?.some((names) => names.has(name)) === true)
      return true
    const descriptor = strings.get(fields.descriptor[field] ?? 0)
    return this.#code.callbacks.readsStatic(classId, name, descriptor, fields.accessFlags[field] ?? 0)
  }
}

/** JVMS §4.5: ACC_TRANSIENT. */
const TRANSIENT = 0x0080

/**
 * Whether a class is judged: not annotations, modules and packages, which code need not mention, nor local and
 * anonymous classes, which are dead if their method is.
 */
function isJudged({ classes, strings }: Facts, row: number): boolean {
  const flags = classes.accessFlags[row] ?? 0
  if ((flags & (ACC.ANNOTATION | ACC.MODULE | ACC.SYNTHETIC)) !== 0) return false
  if ((classes.enclosingClass[row] ?? -1) >= 0) return false
  return !strings.get(classes.name[row] ?? 0).endsWith('package-info')
}

function isRecord({ classes }: Facts, row: number): boolean {
  return ((classes.traits[row] ?? 0) & TRAIT.RECORD) !== 0
}

/** Whether a class only has constants, which the compiler copies to where they are used. */
function isOfConstants(facts: Facts, row: number): boolean {
  const { classes, fields } = facts
  const constants = rows(classes.firstField, row)
  if (constants.length === 0 || constants.some((field) => fields.constantKind[field] === 0)) return false
  return rows(classes.firstMethod, row).every((method) => !isWritten(facts, row, method))
}

/** Whether a method is in the source, and not a constructor that only prevents or allows creating objects. */
function isWritten(facts: Facts, row: number, method: number): boolean {
  const { classes, methods, recordComponents, strings } = facts
  const flags = methods.accessFlags[method] ?? 0
  const name = strings.get(methods.name[method] ?? 0)
  const descriptor = strings.get(methods.descriptor[method] ?? 0)
  if ((flags & (ACC.SYNTHETIC | ACC.BRIDGE)) !== 0 || name === '<clinit>') return false
  if (((classes.accessFlags[row] ?? 0) & ACC.ENUM) !== 0 && (name === 'values' || name === 'valueOf'))
    return false
  if (name === '<init>') {
    const calls = (methods.firstCall[method + 1] ?? 0) - (methods.firstCall[method] ?? 0)
    return !(descriptor === '()V' && calls === 1) && !isRecord(facts, row)
  }
  if (!isRecord(facts, row) || !descriptor.startsWith('()')) return true
  if (['toString', 'hashCode'].includes(name)) return false
  return !rows(classes.firstRecordComponent, row).some(
    (each) => strings.get(recordComponents.name[each] ?? 0) === name,
  )
}

function annotatedFields({ classes, annotations, strings }: Facts, row: number): ReadonlySet<number> {
  const fields = rows(classes.firstAnnotation, row)
    .filter((each) => annotations.targetKind[each] === TARGET.FIELD)
    .filter((each) => !strings.get(Math.max(0, annotations.type[each] ?? 0)).startsWith('java/lang/'))
    .map((each) => annotations.target[each] ?? -1)
  return new Set(fields)
}
