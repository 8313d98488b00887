import { CONSTANT, TARGET } from '../../bytecode/columns.ts'
import { type Facts, rows } from '../../bytecode/facts.ts'
import { lowerBound } from '../../index/lower-bound.ts'
import type { ProjectIndex } from '../../index/project-index.ts'
import { toInternal } from '../names.ts'

/** Classes and members that code or an annotation names, for the platform to find them at run time. */
export interface Named {
  /** Classes of which objects may be created, as ids of names. */
  readonly classes: readonly number[]
  /** Classes that are only initialized, as ids of names: annotation types, and enums of constants. */
  readonly initialized: readonly number[]
  /** Methods and fields, of any class. */
  readonly members: readonly string[]
}

/** Meaning of a text: a class, a resource bundle, a member, or a property with its accessors. */
type NameKind = 'class' | 'bundle' | 'member' | 'property'

/** Methods that find by name, by owner and name, with the positions of the texts; "" stands for any owner. */
const LOOKUPS: Readonly<Record<string, Readonly<Record<string, readonly (readonly [NameKind, number])[]>>>> =
  {
    '': { loadClass: [['class', 0]] },
    'java/lang/Class': {
      forName: [
        ['class', 0],
        ['class', 1],
      ],
      ...eachOf(['getMethod', 'getDeclaredMethod', 'getField', 'getDeclaredField'], [['member', 0]]),
    },
    'java/lang/invoke/MethodHandles$Lookup': {
      findClass: [['class', 0]],
      ...eachOf(
        [
          'findVirtual',
          'findStatic',
          'findSpecial',
          'findVarHandle',
          'findStaticVarHandle',
          'findGetter',
          'findSetter',
          'findStaticGetter',
          'findStaticSetter',
        ],
        [['member', 1]],
      ),
    },
    'java/util/ResourceBundle': { getBundle: [['bundle', 0]] },
    'java/util/concurrent/atomic/AtomicIntegerFieldUpdater': { newUpdater: [['member', 1]] },
    'java/util/concurrent/atomic/AtomicLongFieldUpdater': { newUpdater: [['member', 1]] },
    'java/util/concurrent/atomic/AtomicReferenceFieldUpdater': { newUpdater: [['member', 2]] },
    'java/beans/Beans': { instantiate: [['class', 1]] },
    'java/beans/EventHandler': {
      create: [
        ['property', 2],
        ['property', 3],
      ],
    },
    'java/beans/Expression': {
      '<init>': [
        ['member', 1],
        ['member', 2],
      ],
    },
    'java/beans/Statement': { '<init>': [['member', 1]] },
    'java/beans/PropertyDescriptor': {
      '<init>': [
        ['property', 0],
        ['member', 2],
        ['member', 3],
      ],
    },
  }

function eachOf<T>(names: readonly string[], value: T): Readonly<Record<string, T>> {
  return Object.fromEntries(names.map((name) => [name, value]))
}

/** Reads what the code and annotations of a slice name. */
export class NamedReader {
  readonly #index: ProjectIndex
  readonly #facts: Facts
  readonly #nameOf: (id: number) => number
  /** `LOOKUPS` with ids of names; -1 stands for any owner. */
  readonly #lookups = new Map<number, Map<number, readonly (readonly [NameKind, number])[]>>()
  readonly #bundles: Bundles

  /** @param nameOf as returned by `nameReader` */
  constructor(index: ProjectIndex, facts: Facts, nameOf: (id: number) => number) {
    this.#index = index
    this.#facts = facts
    this.#nameOf = nameOf
    this.#bundles = new Bundles(index)
    for (const [owner, methods] of Object.entries(LOOKUPS)) {
      const ownerId = owner === '' ? -1 : index.names.find(owner)
      if (ownerId === undefined) continue
      const byName = Object.entries(methods).map(
        ([name, texts]) => [index.names.find(name) ?? -2, texts] as const,
      )
      this.#lookups.set(ownerId, new Map(byName))
    }
  }

  /** Returns what the calls of a method name, by its row; undefined if they name nothing. */
  inMethod(method: number): Named | undefined {
    const { methods, calls, arguments: constants, strings } = this.#facts
    let found: Names | undefined
    for (const call of rows(methods.firstCall, method)) {
      const first = calls.firstArgument[call] ?? 0
      const end = calls.firstArgument[call + 1] ?? 0
      if (first === end) continue
      const name = this.#nameOf(calls.name[call] ?? -1)
      const texts =
        this.#lookups.get(this.#nameOf(calls.owner[call] ?? -1))?.get(name) ??
        this.#lookups.get(-1)?.get(name)
      for (const [kind, position] of texts ?? [])
        for (let at = first; at < end; at++)
          if (constants.index[at] === position && constants.kind[at] === CONSTANT.STRING)
            (found ??= new Names(this.#index, this.#bundles)).add(kind, strings.get(constants.value[at] ?? 0))
    }
    return found?.named()
  }

  /**
   * Returns what the annotations on a class and its members name that are kept at run time, and the defaults of
   * an annotation type, by the class's row; undefined if they name nothing. A text can be a class, a member, or
   * "class#member".
   */
  inAnnotations(row: number): Named | undefined {
    const { classes, annotations } = this.#facts
    const own = rows(classes.firstAnnotation, row)
    if (own.length === 0) return undefined
    const found = new Names(this.#index, this.#bundles)
    for (const annotation of own) {
      const isDefault = annotations.targetKind[annotation] === TARGET.ANNOTATION_DEFAULT
      if (!isDefault && annotations.isVisible[annotation] !== 1) continue
      if (!isDefault) found.initialize(this.#nameOf(annotations.type[annotation] ?? -1))
      const first = annotations.elementStart[annotation] ?? 0
      this.#addValues(found, first, annotations.elementCount[annotation] ?? 0)
    }
    return found.named()
  }

  /** Adds the values in rows of `elements`. Nested annotations are rows of their class as well. */
  #addValues(found: Names, first: number, count: number): void {
    const { elements, strings } = this.#facts
    const open: (readonly [first: number, count: number])[] = [[first, count]]
    for (let next = open.pop(); next !== undefined; next = open.pop())
      for (let at = next[0]; at < next[0] + next[1]; at++) {
        const value = elements.value[at] ?? 0
        const high = elements.high[at] ?? 0
        switch (String.fromCharCode(elements.tag[at] ?? 0)) {
          case 'c':
            found.add('class', strings.get(value))
            break
          case 'e':
            found.initializeNamed(strings.get(high))
            break
          case 's':
            found.addText(strings.get(value))
            break
          case '[':
            open.push([value, high])
            break
          default:
        }
      }
  }
}

/** Collects names. */
class Names {
  readonly #index: ProjectIndex
  readonly #classes = new Set<number>()
  readonly #initialized = new Set<number>()
  readonly #members = new Set<string>()
  readonly #bundles: Bundles

  constructor(index: ProjectIndex, bundles: Bundles) {
    this.#index = index
    this.#bundles = bundles
  }

  add(kind: NameKind, text: string): void {
    if (kind === 'class') this.#addClass(text)
    else if (kind === 'bundle') for (const name of this.#bundles.find(text)) this.#classes.add(name)
    else {
      this.#members.add(text)
      if (kind === 'property')
        for (const prefix of ['get', 'set', 'is']) this.#members.add(prefix + capitalized(text))
    }
  }

  /** Adds what the text of an annotation may name. */
  addText(text: string): void {
    const [owner = '', member] = text.split('#', 2)
    this.#addClass(owner)
    if (/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(member ?? text)) this.#members.add(member ?? text)
  }

  /** @param name id of a class's name, or -1 */
  initialize(name: number): void {
    if (name >= 0) this.#initialized.add(name)
  }

  initializeNamed(descriptor: string): void {
    this.initialize(this.#find(descriptor) ?? -1)
  }

  named(): Named | undefined {
    if (this.#classes.size + this.#initialized.size + this.#members.size === 0) return undefined
    return { classes: [...this.#classes], initialized: [...this.#initialized], members: [...this.#members] }
  }

  #addClass(text: string): void {
    const name = this.#find(text)
    if (name !== undefined) this.#classes.add(name)
  }

  /** Finds a class by its name, dotted or internal, or its descriptor; an array's is that of its elements. */
  #find(text: string): number | undefined {
    const element = /^\[*L([^;]+);$/.exec(text)?.[1] ?? text
    return this.#index.names.find(toInternal(element))
  }
}

/** Finds the classes of resource bundles: the one with the name, and those for a language, whose names continue after "_". */
class Bundles {
  readonly #index: ProjectIndex
  /** Classes of the project, sorted by name. */
  #sorted: readonly { readonly name: string; readonly nameId: number }[] | undefined

  constructor(index: ProjectIndex) {
    this.#index = index
  }

  /** Returns ids of names. */
  find(text: string): readonly number[] {
    const sorted = (this.#sorted ??= this.#sort())
    const name = toInternal(text)
    const exact = this.#index.names.find(name)
    const found = exact === undefined ? [] : [exact]
    const start = `${name}_`
    for (
      let at = lowerBound(0, sorted.length, (each) => (sorted[each]?.name ?? '') < start);
      sorted[at]?.name.startsWith(start) === true;
      at++
    )
      found.push(sorted[at]?.nameId ?? -1)
    return found
  }

  #sort(): readonly { readonly name: string; readonly nameId: number }[] {
    const classes = [...this.#index.ofProject()].map((classId) => ({
      name: this.#index.nameOf(classId),
      nameId: this.#index.nameIdOf(classId),
    }))
    return classes.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
