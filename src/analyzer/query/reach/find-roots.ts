import { ACC } from '../../bytecode/access-flags.ts'
import { DIRECTIVE, TARGET } from '../../bytecode/columns.ts'
import { rows } from '../../bytecode/facts.ts'
import { matchingAnnotations } from '../annotations/annotation-closure.ts'
import { toFqn, toInternal } from '../names.ts'
import { partsOf } from '../paths/slice-calls.ts'
import type { Snapshot } from '../snapshot.ts'
import { allSubtypes } from '../types/subtypes.ts'
import type { ProjectCode } from './project-code.ts'
import {
  CLASS_ANNOTATIONS,
  type Constructors,
  METHOD_ANNOTATIONS,
  namesOf,
  type RootKind,
  SUPERTYPES,
} from './root-table.ts'
import { readServiceFiles } from './service-files.ts'

/** A method that code outside calls, or a class of which it creates objects. */
export interface Root {
  /** Kind of entry point, "public", or "given". */
  readonly kind: RootKind | 'public' | 'given'
  /** "@org.junit.jupiter.api.Test", "extends javax.servlet.Filter" … */
  readonly reason: string
  readonly classId: number
  /** Called methods. */
  readonly methods: readonly number[]
  /** Whether an object of the class is created. */
  readonly isCreated: boolean
}

/** Class file versions of Java 21, whose preview features mark the minor version, and of Java 25. */
const JAVA_21 = 65
const JAVA_25 = 69
const PREVIEW = 0xffff

const MAIN = '([Ljava/lang/String;)V'
const AGENT = '(Ljava/lang/String;Ljava/lang/instrument/Instrumentation;)V'

/** Finds the entry points in the project's classes. */
export function* findRoots(snapshot: Snapshot, code: ProjectCode): Generator<void, readonly Root[]> {
  const search = new RootSearch(snapshot, code)
  yield* search.run()
  return search.roots
}

class RootSearch {
  readonly roots: Root[] = []
  readonly #snapshot: Snapshot
  readonly #code: ProjectCode

  constructor(snapshot: Snapshot, code: ProjectCode) {
    this.#snapshot = snapshot
    this.#code = code
  }

  *run(): Generator<void, void> {
    yield* this.#programs()
    yield* this.#annotatedMethods()
    yield* this.#annotatedClasses()
    yield* this.#subclasses()
    yield* this.#services()
  }

  /** Methods that the JVM or a test runner finds by their signature. */
  *#programs(): Generator<void, void> {
    const { graph } = this.#code
    const names = new Set(
      ['main', 'premain', 'agentmain'].map((name) => this.#snapshot.index.names.find(name)),
    )
    for (const classId of this.#snapshot.index.ofProject()) {
      yield
      for (const method of graph.methodsOf(classId)) {
        const { name, descriptor } = partsOf(graph.signatureOf(method))
        if (!names.has(name)) continue
        const program = this.#programOf(classId, method, graph.descriptorText(descriptor))
        if (program !== undefined) this.roots.push(program)
      }
    }
  }

  /** Returns the root of a method with the name of a program's entry point. */
  #programOf(classId: number, method: number, descriptor: string): Root | undefined {
    const flags = this.#code.graph.flagsOf(method)
    const isPublicStatic = (flags & ACC.STATIC) !== 0 && (flags & ACC.PUBLIC) !== 0
    const root = { kind: 'main', classId, methods: [method], isCreated: false } as const
    if (this.#code.nameOf(method) !== 'main') {
      const isAgent = descriptor === AGENT || descriptor === '(Ljava/lang/String;)V'
      return isPublicStatic && isAgent ? { ...root, reason: 'Java agent' } : undefined
    }
    if (isPublicStatic && descriptor === MAIN) return { ...root, reason: 'main method' }
    if ((descriptor !== MAIN && descriptor !== '()V') || !this.#isInstanceMain(classId, flags))
      return undefined
    return {
      ...root,
      reason: 'main method of Java 25',
      methods: [method, ...this.#constructors(classId, 'no-arg')],
      isCreated: (flags & ACC.STATIC) === 0,
    }
  }

  /** JEP 512, and its previews since Java 21. */
  #isInstanceMain(classId: number, flags: number): boolean {
    if ((flags & (ACC.PRIVATE | ACC.ABSTRACT)) !== 0) return false
    const slice = this.#snapshot.index.sliceOf(classId)
    const { classes } = this.#snapshot.facts(slice)
    const row = classId - slice.firstClass
    const major = classes.majorVersion[row] ?? 0
    return major >= JAVA_25 || (major >= JAVA_21 && classes.minorVersion[row] === PREVIEW)
  }

  *#annotatedMethods(): Generator<void, void> {
    for (const rule of METHOD_ANNOTATIONS)
      for (const name of namesOf(rule))
        for (const { classId, targetKind, method } of this.#annotated(name)) {
          yield
          if (targetKind !== TARGET.METHOD) continue
          const reason = `@${toFqn(name)}`
          const isAbstract = (this.#code.graph.flagsOf(method) & ACC.ABSTRACT) !== 0
          const found = isAbstract ? this.#implementations(classId, method) : [{ classId, method }]
          for (const each of found)
            this.roots.push({
              kind: rule.kind,
              reason,
              classId: each.classId,
              methods: [each.method, ...this.#constructors(each.classId, 'all')],
              isCreated: this.#canBeCreated(each.classId),
            })
        }
  }

  *#annotatedClasses(): Generator<void, void> {
    for (const rule of CLASS_ANNOTATIONS)
      for (const name of namesOf(rule))
        for (const { classId, targetKind } of this.#annotated(name)) {
          yield
          if (targetKind === TARGET.CLASS && this.#canBeCreated(classId))
            this.roots.push({
              kind: rule.kind,
              reason: `@${toFqn(name)}`,
              classId,
              methods: [
                ...this.#constructors(classId, rule.constructors),
                ...(rule.isPublicCalled === true ? this.#publicMethods(classId) : []),
              ],
              isCreated: true,
            })
        }
  }

  *#subclasses(): Generator<void, void> {
    for (const rule of SUPERTYPES)
      for (const name of namesOf(rule)) {
        yield
        for (const classId of allSubtypes(this.#snapshot, this.#snapshot.index.names.find(name)).keys()) {
          if (!this.#isOfProject(classId) || !this.#canBeCreated(classId)) continue
          const tests =
            rule.kind === 'test' ? this.#publicMethods(classId).filter((each) => this.#isTest(each)) : []
          this.roots.push({
            kind: rule.kind,
            reason: `subtype of ${toFqn(name)}`,
            classId,
            methods: [...tests, ...this.#constructors(classId, rule.constructors)],
            isCreated: true,
          })
        }
      }
  }

  /** JUnit 3 finds tests by name. */
  #isTest(method: number): boolean {
    const name = this.#code.nameOf(method)
    return name.startsWith('test') || name === 'suite'
  }

  /** Providers of services, in module declarations and in META-INF/services. */
  *#services(): Generator<void, void> {
    const folders = new Set<string>()
    for (const slice of this.#snapshot.index.slices) {
      if (slice.source !== 'PROJECT') continue
      yield
      if (!folders.has(slice.location))
        for (const { service, provider } of readServiceFiles(slice.location))
          this.#addProvider(toInternal(provider), `META-INF/services/${service}`)
      folders.add(slice.location)
      const { classes } = slice.digest
      for (let row = 0; row < classes.count; row++) {
        if (((classes.accessFlags[row] ?? 0) & ACC.MODULE) === 0) continue
        const { classes: modules, moduleDirectives, strings } = this.#snapshot.facts(slice)
        for (const at of rows(modules.firstModuleDirective, row))
          if (moduleDirectives.kind[at] === DIRECTIVE.PROVIDES)
            this.#addProvider(strings.get(moduleDirectives.target[at] ?? 0), 'provided by the module')
      }
    }
  }

  #addProvider(name: string, reason: string): void {
    const classId = this.#snapshot.index.find(name)
    if (classId === undefined || !this.#isOfProject(classId)) return
    const methods = [
      ...this.#constructors(classId, 'no-arg'),
      // A module's provider may have this instead of a constructor.
      ...this.#publicMethods(classId).filter((method) => this.#code.nameOf(method) === 'provider'),
    ]
    this.roots.push({ kind: 'service', reason, classId, methods, isCreated: this.#canBeCreated(classId) })
  }

  /** Yields the elements in the project with an annotation, directly or as a meta-annotation. */
  *#annotated(name: string) {
    const type = this.#snapshot.index.names.find(name)
    if (type === undefined) return
    for (const { id, slice, targetKind, target } of matchingAnnotations(this.#snapshot, type)) {
      if (!this.#isOfProject(id)) continue
      const method = this.#code.graph.firstMethodOf(slice) + target
      yield { classId: id, targetKind, method }
    }
  }

  /** Returns the methods of subtypes that implement an abstract method. */
  #implementations(classId: number, method: number) {
    const { index } = this.#snapshot
    const { graph } = this.#code
    const { name, descriptor } = partsOf(graph.signatureOf(method))
    return [...allSubtypes(this.#snapshot, index.nameIdOf(classId)).keys()].flatMap((subtype) => {
      if (!this.#isOfProject(subtype) || !this.#canBeCreated(subtype)) return []
      const found = graph.resolve(index.nameIdOf(subtype), name, descriptor)
      return found === undefined || this.#code.classOf(found) < 0 ? [] : [{ classId: subtype, method: found }]
    })
  }

  #constructors(classId: number, which: Constructors): readonly number[] {
    const { graph } = this.#code
    const all = this.#code.constructorsOf(classId)
    return which === 'all'
      ? all
      : all.filter((each) => graph.descriptorText(partsOf(graph.signatureOf(each)).descriptor) === '()V')
  }

  #publicMethods(classId: number): readonly number[] {
    const { graph } = this.#code
    return graph
      .methodsOf(classId)
      .filter(
        (method) => (graph.flagsOf(method) & ACC.PUBLIC) !== 0 && !this.#code.nameOf(method).startsWith('<'),
      )
  }

  #canBeCreated(classId: number): boolean {
    const { digest, firstClass } = this.#snapshot.index.sliceOf(classId)
    const flags = digest.classes.accessFlags[classId - firstClass] ?? 0
    return (flags & (ACC.ABSTRACT | ACC.INTERFACE | ACC.ANNOTATION)) === 0
  }

  #isOfProject(classId: number): boolean {
    return this.#snapshot.sourceOf(classId) === 'PROJECT' && !this.#snapshot.index.isHidden(classId)
  }
}
