import { ACC } from '../../bytecode/access-flags.ts'
import { TRAIT } from '../../bytecode/columns.ts'
import type { CallGraph } from '../paths/call-graph.ts'
import { partsOf } from '../paths/slice-calls.ts'
import type { Snapshot } from '../snapshot.ts'
import { allSupertypes } from '../types/subtypes.ts'
import type { UsePools } from './read-uses.ts'

/** Methods to override of types that every class path has, in case the JDK was not read. */
const KNOWN_METHODS: Readonly<Record<string, readonly string[]>> = {
  'java/lang/Object': ['clone', 'equals', 'finalize', 'hashCode', 'toString'],
  'java/lang/Enum': ['toString'],
  'java/lang/Record': [],
  'java/io/Serializable': [],
  'java/lang/Cloneable': [],
}

/** Private methods that serialization calls on each serializable class of an object, by name and descriptor. */
const STREAM_METHODS: Readonly<Record<string, string>> = {
  readObject: '(Ljava/io/ObjectInputStream;)V',
  writeObject: '(Ljava/io/ObjectOutputStream;)V',
  readObjectNoData: '()V',
}
/** Methods that replace the object, of the class or inherited. */
const REPLACEMENTS: ReadonlySet<string> = new Set(['writeReplace', 'readResolve'])
const REPLACEMENT = '()Ljava/lang/Object;'

/** Code that a search covers, as `ProjectCode`. */
interface CoveredCode {
  readonly graph: CallGraph
  readonly pools: Pick<UsePools, 'signatures'>
  includes(classId: number): boolean
  nameOf(method: number): string
  isConstructor(signature: number): boolean
  constructorsOf(classId: number): readonly number[]
  chainOf(classId: number): readonly number[]
  resolve(classId: number, signature: number): number
}

/**
 * Members that code outside uses without a call in the code: it knows them from supertypes, or serialization
 * (`java.io.ObjectStreamClass`), RMI and JMX find them by name.
 */
export class Callbacks {
  readonly #snapshot: Snapshot
  readonly #code: CoveredCode
  /** Signatures that objects of a type outside have to offer. */
  readonly #offered = new Map<number, readonly number[]>()
  readonly #serializable = new Map<number, boolean>()
  readonly #ofManagement = new Map<number, boolean>()

  constructor(snapshot: Snapshot, code: CoveredCode) {
    this.#snapshot = snapshot
    this.#code = code
  }

  /**
   * Returns the methods of a class's objects that implement or override one of a type outside, and those that the
   * platform finds by name. If a supertype is not on the class path, all that subclasses can override count.
   */
  *of(classId: number): Generator<void, readonly number[]> {
    const found = new Set<number>()
    const name = this.#snapshot.index.nameIdOf(classId)
    const above = allSupertypes(this.#snapshot, name)
    for (const type of above) {
      yield
      const id = this.#snapshot.index.findByNameId(type)
      if (id === undefined) for (const method of this.#overridable(classId, type)) found.add(method)
      else if (!this.#code.includes(id))
        for (const signature of this.#offeredBy(id)) {
          const method = this.#code.resolve(classId, signature)
          if (method >= 0) found.add(method)
        }
    }
    for (const method of [...this.#serialMethods(classId, above), ...this.#interfaceMethods(classId, above)])
      found.add(method)
    return [...found]
  }

  /**
   * Returns the methods of a class, with those it inherits in scope, that could override one of a type that is
   * not on the class path.
   */
  #overridable(classId: number, type: number): readonly number[] {
    const known = KNOWN_METHODS[this.#snapshot.index.names.get(type)]
    const exact = ACC.STATIC | ACC.PRIVATE
    return this.#code
      .chainOf(classId)
      .flatMap((each) => this.#code.graph.methodsOf(each))
      .filter((method) => {
        const name = this.#code.nameOf(method)
        if ((this.#code.graph.flagsOf(method) & exact) !== 0 || name.startsWith('<')) return false
        return known?.includes(name) ?? true
      })
  }

  /** Returns the signatures of the methods of a class outside that subclasses can implement. */
  #offeredBy(classId: number): readonly number[] {
    const known = this.#offered.get(classId)
    if (known !== undefined) return known
    const exact = ACC.STATIC | ACC.PRIVATE | ACC.FINAL
    const found = this.#code.graph
      .methodsOf(classId)
      .filter((method) => (this.#code.graph.flagsOf(method) & exact) === 0)
      .map((method) => this.#code.graph.signatureOf(method))
      // Classes in scope declare no others; constructors are not inherited.
      .filter(
        (signature) =>
          this.#code.pools.signatures.find(signature) >= 0 && !this.#code.isConstructor(signature),
      )
    this.#offered.set(classId, found)
    return found
  }

  #serialMethods(classId: number, above: ReadonlySet<number>): readonly number[] {
    if (!this.#has(above, 'java/io/Serializable') || this.#has(above, 'java/lang/Enum')) return []
    const { graph } = this.#code
    const chain = this.#code.chainOf(classId)
    const found = chain.flatMap((each) =>
      graph.methodsOf(each).filter((method) => this.#isReplacement(method, each === classId)),
    )
    if (this.#isRecord(classId)) return found
    if (this.#has(above, 'java/io/Externalizable')) return [...found, ...this.#noArgConstructor(classId)]
    // Classes below a serializable one are serializable.
    const end = chain.findIndex((each) => !this.#isSerializable(each))
    const first = chain[end]
    return [
      ...found,
      ...chain
        .slice(0, end < 0 ? undefined : end)
        .flatMap((each) => graph.methodsOf(each).filter((method) => this.#isStreamMethod(method))),
      // Deserialization runs the constructor of the first superclass that is not serializable.
      ...(first === undefined ? [] : this.#noArgConstructor(first)),
    ]
  }

  /** Returns the methods of remote and management interfaces in scope, and those that implement them. */
  #interfaceMethods(classId: number, above: ReadonlySet<number>): readonly number[] {
    const { graph } = this.#code
    const isRemote = this.#has(above, 'java/rmi/Remote')
    const interfaces = [...above]
      .filter((type) => isRemote || this.#isOfManagement(type))
      .map((type) => this.#snapshot.index.findByNameId(type) ?? -1)
      .filter((type) => type >= 0 && this.#code.includes(type) && this.#isCalled(type, classId, above))
    if (interfaces.length === 0) return []
    const declared = interfaces.flatMap((type) => graph.methodsOf(type))
    const signatures = new Set(declared.map((method) => graph.signatureOf(method)))
    const implementing = this.#code
      .chainOf(classId)
      .flatMap((each) => graph.methodsOf(each).filter((method) => signatures.has(graph.signatureOf(method))))
    return [...declared, ...implementing]
  }

  /** Whether RMI or JMX call the methods of a type. JMX knows "NameMBean" of a class "Name", and "…MXBean". */
  #isCalled(type: number, classId: number, above: ReadonlySet<number>): boolean {
    const { index } = this.#snapshot
    const { digest, firstClass } = index.sliceOf(type)
    if (((digest.classes.accessFlags[type - firstClass] ?? 0) & ACC.INTERFACE) === 0) return false
    if (this.#extends(type, 'java/rmi/Remote')) return true
    const name = index.nameOf(type)
    if (name.endsWith('MXBean')) return true
    const classes = [index.nameIdOf(classId), ...above]
    return name.endsWith('MBean') && classes.some((each) => `${index.names.get(each)}MBean` === name)
  }

  /** Whether the name of a type ends like that of an interface of JMX. */
  #isOfManagement(type: number): boolean {
    let isOfManagement = this.#ofManagement.get(type)
    if (isOfManagement === undefined) {
      isOfManagement = /M(?:X)?Bean$/.test(this.#snapshot.index.names.get(type))
      this.#ofManagement.set(type, isOfManagement)
    }
    return isOfManagement
  }

  /**
   * Whether serialization reads a static field of a class.
   *
   * @param descriptor of the field
   */
  readsStatic(classId: number, name: string, descriptor: string, flags: number): boolean {
    const constant = ACC.STATIC | ACC.FINAL
    if ((flags & constant) !== constant || !this.#isSerializable(classId)) return false
    if (this.#extends(classId, 'java/lang/Enum')) return false
    if (name === 'serialVersionUID') return /^[BCIJS]$/.test(descriptor)
    return (
      name === 'serialPersistentFields' &&
      descriptor === '[Ljava/io/ObjectStreamField;' &&
      (flags & ACC.PRIVATE) !== 0 &&
      !this.#isRecord(classId) &&
      !this.#extends(classId, 'java/io/Externalizable')
    )
  }

  #isSerializable(classId: number): boolean {
    const known = this.#serializable.get(classId)
    if (known !== undefined) return known
    const isSerializable = this.#extends(classId, 'java/io/Serializable')
    this.#serializable.set(classId, isSerializable)
    return isSerializable
  }

  #isStreamMethod(method: number): boolean {
    if ((this.#code.graph.flagsOf(method) & (ACC.PRIVATE | ACC.STATIC)) !== ACC.PRIVATE) return false
    return STREAM_METHODS[this.#code.nameOf(method)] === this.#descriptorOf(method)
  }

  /** @param isOwn whether the class of the object declares it; private ones are not inherited */
  #isReplacement(method: number, isOwn: boolean): boolean {
    const flags = this.#code.graph.flagsOf(method)
    if ((flags & (ACC.STATIC | ACC.ABSTRACT)) !== 0 || (!isOwn && (flags & ACC.PRIVATE) !== 0)) return false
    const { descriptor } = partsOf(this.#code.graph.signatureOf(method))
    return (
      descriptor === this.#code.graph.descriptors.find(REPLACEMENT) &&
      REPLACEMENTS.has(this.#code.nameOf(method))
    )
  }

  #noArgConstructor(classId: number): readonly number[] {
    return this.#code.constructorsOf(classId).filter((method) => this.#descriptorOf(method) === '()V')
  }

  #descriptorOf(method: number): string {
    const { graph } = this.#code
    return graph.descriptorText(partsOf(graph.signatureOf(method)).descriptor)
  }

  #extends(classId: number, type: string): boolean {
    return this.#has(allSupertypes(this.#snapshot, this.#snapshot.index.nameIdOf(classId)), type)
  }

  /** Whether a type is among names of supertypes. */
  #has(above: ReadonlySet<number>, type: string): boolean {
    const name = this.#snapshot.index.names.find(type)
    return name !== undefined && above.has(name)
  }

  #isRecord(classId: number): boolean {
    const slice = this.#snapshot.index.sliceOf(classId)
    const traits = this.#snapshot.facts(slice).classes.traits[classId - slice.firstClass] ?? 0
    return (traits & TRAIT.RECORD) !== 0
  }
}
