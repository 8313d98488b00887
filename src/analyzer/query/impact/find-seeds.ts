import { ACC } from '../../bytecode/access-flags.ts'
import { rows } from '../../bytecode/facts.ts'
import { memberAt } from '../calls/find-references.ts'
import { toFqn, toInternal } from '../names.ts'
import { signatureOf } from '../paths/slice-calls.ts'
import type { ProjectCode } from '../reach/project-code.ts'
import { fieldKey, siteKey } from '../reach/read-uses.ts'
import type { Snapshot } from '../snapshot.ts'
import { allSubtypes, allSupertypes } from '../types/subtypes.ts'
import { WrittenCode } from '../written/written-code.ts'
import type { ChangeWord, ClassChange, FileChange, MemberChange } from './class-change.ts'
import { changedRows, classesOfFiles } from './file-classes.ts'
import type { Seed } from './impact-search.ts'

/** A class or member that differs, as answers show it. */
export interface ChangeView {
  readonly classFqn: string
  /** Null for the class itself. */
  readonly member: string | null
  readonly descriptor: string | null
  readonly change: ChangeWord
}

/** Where a search starts, and why. */
interface FoundSeed extends Seed {
  /** Number of the change. */
  readonly change: number
  /** Null if the method itself changed. */
  readonly reason: string | null
}

/** Changes with the methods that changed or directly use what changed. */
export interface Seeds {
  readonly changes: readonly ChangeView[]
  readonly seeds: readonly FoundSeed[]
  /** Changed files without classes. */
  readonly unknownFiles: readonly string[]
  /** Names of constants that can have changed: the compiler copies them, so class files do not show their users. */
  readonly constants: readonly string[]
}

/** Finds where a search starts; yields after each class and method. */
export function* findSeeds(
  snapshot: Snapshot,
  code: ProjectCode,
  changed: { readonly classes: readonly ClassChange[]; readonly files: readonly FileChange[] },
): Generator<void, Seeds> {
  const search = new SeedSearch(snapshot, code)
  for (const each of changed.classes) {
    yield
    search.addClass(each)
  }
  yield* search.addFiles(changed.files)
  yield* search.addUsers()
  return search
}

class SeedSearch implements Seeds {
  readonly changes: ChangeView[] = []
  readonly seeds: FoundSeed[] = []
  readonly unknownFiles: string[] = []
  readonly #snapshot: Snapshot
  readonly #code: ProjectCode
  readonly #constants = new Set<string>()
  /** Numbers of changes, by their content. */
  readonly #known = new Map<string, number>()
  /** Numbers of changes, by what is used: ids of types' names, fields, and call sites. */
  readonly #types = new Map<number, number>()
  readonly #owners = new Map<number, number>()
  readonly #fields = new Map<number, number>()
  readonly #sites = new Map<number, number>()

  constructor(snapshot: Snapshot, code: ProjectCode) {
    this.#snapshot = snapshot
    this.#code = code
  }

  get constants(): readonly string[] {
    return [...this.#constants].toSorted()
  }

  addClass({ classFqn, change, isHeaderChanged, members }: ClassChange): void {
    const name = this.#snapshot.index.names.find(toInternal(classFqn))
    const classId = name === undefined ? undefined : this.#snapshot.index.findByNameId(name)
    if (isHeaderChanged || change !== 'changed') this.#addHeader(classFqn, change, name, classId)
    for (const member of members) {
      const at = this.#change(classFqn, member.change, member)
      if (name === undefined) continue
      const isMethod = member.descriptor === undefined || member.descriptor.startsWith('(')
      const isField = member.descriptor === undefined || !isMethod
      if (isMethod && member.change === 'removed') this.#addRemoved(name, member, at)
      else if (isMethod && classId !== undefined) this.#addMethods(classId, member, at)
      if (isField) this.#addField(name, member.name, at)
    }
  }

  *addFiles(files: readonly FileChange[]): Generator<void, void> {
    if (files.length === 0) return
    const classes = yield* classesOfFiles(this.#snapshot, files)
    for (const { path, lines, isRemoved } of files) {
      yield
      if (isRemoved === true) {
        this.#addRemovedFile(path)
        continue
      }
      const ids = classes.get(path) ?? []
      if (ids.length === 0) this.unknownFiles.push(path)
      for (const { classId, isHeaderChanged, methods } of changedRows(this.#snapshot, ids, lines)) {
        const classFqn = this.#snapshot.fqnOf(classId)
        if (isHeaderChanged) {
          this.#addHeader(classFqn, 'changed', this.#snapshot.index.nameIdOf(classId), classId)
          this.#addConstants(classId)
          continue
        }
        const slice = this.#snapshot.index.sliceOf(classId)
        const facts = this.#snapshot.facts(slice)
        for (const row of methods) {
          const name = facts.strings.get(facts.methods.name[row] ?? 0)
          const descriptor = facts.strings.get(facts.methods.descriptor[row] ?? 0)
          const at = this.#change(classFqn, 'changed', { name, descriptor })
          this.#seed(this.#code.graph.firstMethodOf(slice) + row, 0, at, null)
        }
      }
    }
  }

  /** A removed file has no classes, but others can still name them. */
  #addRemovedFile(path: string): void {
    const { index } = this.#snapshot
    const parts = path.replace(/\.\w+$/, '').split('/')
    const names = parts.map((_, at) => index.names.find(parts.slice(at).join('/')))
    const name = names.find((each) => each !== undefined && index.isUsed(each))
    if (name === undefined) this.unknownFiles.push(path)
    else this.#addHeader(toFqn(index.names.get(name)), 'removed', name, index.findByNameId(name))
  }

  /** Adds the methods that use what changed, in one pass over the code. */
  *addUsers(): Generator<void, void> {
    const { pools } = this.#code
    const bySite = new Map(this.#sites)
    if (this.#owners.size > 0)
      for (let site = 0; site < this.#code.siteCount; site++) {
        if (site % 256 === 0) yield
        const at = this.#owners.get(this.#code.siteOf(site).owner)
        if (at !== undefined && !bySite.has(site)) bySite.set(site, at)
      }
    const byField = new Map<number, number>()
    for (const [key, at] of this.#fields) {
      const field = pools.fields.find(key)
      if (field >= 0) byField.set(field, at)
    }
    if (this.#types.size + byField.size + bySite.size === 0) return
    for (let method = 0; method < this.#code.methodCount; method++) {
      if (this.#code.classOf(method) < 0) continue
      yield
      this.#addUser(method, this.#code.typesIn(method), this.#types, (label) => `uses the type ${label}`)
      const fields = Array.from(this.#code.fieldsIn(method), (field) => field >> 1)
      this.#addUser(method, fields, byField, (label) => `reads or writes the field ${label}`)
      this.#addUser(
        method,
        this.#code.usesOf(method).sites,
        bySite,
        (label) => `calls ${label}, which changed`,
      )
    }
  }

  #addUser(
    method: number,
    used: Iterable<number>,
    changed: ReadonlyMap<number, number>,
    reason: (label: string) => string,
  ): void {
    for (const each of used) {
      const at = changed.get(each)
      if (at === undefined) continue
      this.#seed(method, 1, at, reason(this.#labelOf(at)))
      return
    }
  }

  #addHeader(
    classFqn: string,
    change: ChangeWord,
    name: number | undefined,
    classId: number | undefined,
  ): void {
    const at = this.#change(classFqn, change)
    if (classId !== undefined)
      for (const method of this.#code.graph.methodsOf(classId)) this.#seed(method, 0, at, null)
    // Only changed code can use a class that did not exist.
    if (change === 'added' || name === undefined) return
    this.#types.set(name, at)
    this.#owners.set(name, at)
    for (const subtype of allSubtypes(this.#snapshot, name).keys()) {
      this.#owners.set(this.#snapshot.index.nameIdOf(subtype), at)
      for (const method of this.#code.graph.methodsOf(subtype))
        this.#seed(method, 1, at, `belongs to a subtype of ${classFqn}`)
    }
  }

  #addMethods(classId: number, { name, descriptor }: MemberChange, at: number): void {
    const slice = this.#snapshot.index.sliceOf(classId)
    const { classes, methods, strings } = this.#snapshot.facts(slice)
    for (const row of rows(classes.firstMethod, classId - slice.firstClass))
      if (
        strings.get(methods.name[row] ?? 0) === name &&
        (descriptor === undefined || strings.get(methods.descriptor[row] ?? 0) === descriptor)
      )
        this.#seed(this.#code.graph.firstMethodOf(slice) + row, 0, at, null)
  }

  /** Calls of a removed method now reach another, or none. Those of code outside reach it on any object. */
  #addRemoved(type: number, member: MemberChange, at: number): void {
    const types = this.#subtypes(type)
    for (const classId of types.ids)
      for (const method of this.#code.graph.methodsOf(classId))
        if (this.#code.nameOf(method) === '<init>')
          this.#seed(method, 1, at, `creates an object without ${member.name}, which was removed`)
    const { pools, graph } = this.#code
    const name = this.#snapshot.index.names.find(member.name)
    const descriptor = graph.descriptors.find(member.descriptor ?? '')
    if (name === undefined || descriptor === undefined) return
    const signature = pools.signatures.find(signatureOf(name, descriptor))
    if (signature < 0) return
    for (const owner of [...types.names, ...allSupertypes(this.#snapshot, type)])
      for (const isDispatched of [true, false]) {
        const site = pools.sites.find(siteKey(owner, isDispatched, signature))
        if (site >= 0) this.#sites.set(site, at)
      }
  }

  /** Returns a type and its subtypes: the classes, and the ids of all names. */
  #subtypes(type: number): { readonly ids: readonly number[]; readonly names: readonly number[] } {
    const { index } = this.#snapshot
    const own = index.findByNameId(type)
    const below = [...allSubtypes(this.#snapshot, type).keys()]
    return {
      ids: [...(own === undefined ? [] : [own]), ...below],
      names: [type, ...below.map((id) => index.nameIdOf(id))],
    }
  }

  #addField(type: number, name: string, at: number): void {
    const nameId = this.#code.graph.descriptors.find(name)
    if (nameId === undefined) return
    for (const owner of this.#subtypes(type).names) this.#fields.set(fieldKey(owner, nameId), at)
  }

  #addConstants(classId: number): void {
    const slice = this.#snapshot.index.sliceOf(classId)
    const { classes, fields, strings } = this.#snapshot.facts(slice)
    for (const row of rows(classes.firstField, classId - slice.firstClass))
      if (fields.constantKind[row] !== 0) this.#constants.add(strings.get(fields.name[row] ?? 0))
  }

  #change(
    classFqn: string,
    change: ChangeWord,
    member?: { name: string; descriptor?: string | undefined },
  ): number {
    const view = this.#written({
      classFqn,
      member: member?.name ?? null,
      descriptor: member?.descriptor ?? null,
      change,
    })
    const key = [view.classFqn, view.member, view.descriptor, view.change].join(' ')
    const known = this.#known.get(key)
    if (known !== undefined) return known
    this.#known.set(key, this.changes.length)
    return this.changes.push(view) - 1
  }

  /** Returns the change of the written class or member for which a compiler's one counts. */
  #written(view: ChangeView): ChangeView {
    const { classFqn, member, descriptor, change } = view
    const classId = this.#snapshot.findClass(classFqn)
    if (classId === undefined) return view
    const { index } = this.#snapshot
    const isMade = index.isMade(classId)
    const code = WrittenCode.of(this.#snapshot)
    const ofClass = {
      classFqn: this.#snapshot.fqnOf(isMade ? (index.classAround(classId) ?? classId) : classId),
      member: null,
      descriptor: null,
      change: 'changed',
    } as const
    if (isMade) return ofClass
    if (member === null || change === 'removed') return view
    const slice = this.#snapshot.index.sliceOf(classId)
    const { classes, fields, methods, strings } = this.#snapshot.facts(slice)
    const row = classId - slice.firstClass
    const method = rows(classes.firstMethod, row).find(
      (each) =>
        strings.get(methods.name[each] ?? 0) === member &&
        strings.get(methods.descriptor[each] ?? 0) === descriptor,
    )
    if (method !== undefined && code.isMade(classId, method)) {
      const [place] = code.placesOf(classId, method)
      if (place === undefined) return ofClass
      const written = memberAt(this.#snapshot, place)
      return { ...ofClass, classFqn: this.#snapshot.fqnOf(place.classId), ...written }
    }
    const field = rows(classes.firstField, row).find((each) => strings.get(fields.name[each] ?? 0) === member)
    const isMadeField = field !== undefined && ((fields.accessFlags[field] ?? 0) & ACC.SYNTHETIC) !== 0
    return method === undefined && isMadeField ? ofClass : view
  }

  #seed(method: number, depth: 0 | 1, change: number, reason: string | null): void {
    if (this.#code.classOf(method) >= 0) this.seeds.push({ method, depth, change, reason })
  }

  #labelOf(at: number): string {
    const { classFqn = '', member = null } = this.changes[at] ?? {}
    return member === null ? toFqn(classFqn) : `${classFqn}#${member}`
  }
}
