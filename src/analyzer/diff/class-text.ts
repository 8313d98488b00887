import { ACC } from '../bytecode/access-flags.ts'
import { instructionsOf } from './code-text.ts'
import { ConstantPool, Cursor } from './constant-pool.ts'

/** A class file as texts that are equal if and only if it behaves the same. */
export interface ClassText {
  /** Internal name. */
  readonly name: string
  /** Flags, supertypes, annotations and other attributes of the class itself. */
  readonly header: string
  /** Text of each method and field, keyed by name and descriptor with a NUL between. */
  readonly members: ReadonlyMap<string, string>
  /** Keys of the members that a compiler made. */
  readonly made: ReadonlySet<string>
}

/** A class file's own name and flags. */
interface ClassHead {
  /** Internal name. */
  readonly name: string
  /** Whether a compiler made the class. */
  readonly isMade: boolean
}

/** Attributes for debuggers, or that follow from others. */
const IGNORED = new Set([
  'BootstrapMethods',
  'InnerClasses',
  'LineNumberTable',
  'LocalVariableTable',
  'LocalVariableTypeTable',
  'NestMembers',
  'SourceDebugExtension',
  'SourceFile',
  'StackMapTable',
])

/** Its values repeat the declarations of the members, so that each change of one would change the class. */
const KOTLIN_METADATA = 'Lkotlin/Metadata;'

/** Bytes of the target of a type annotation by its type (JVMS table 4.7.20-A and -B). */
const TARGET_BYTES: Readonly<Record<number, number>> = {
  0x00: 1,
  0x01: 1,
  0x10: 2,
  0x11: 2,
  0x12: 2,
  0x13: 0,
  0x14: 0,
  0x15: 0,
  0x16: 1,
  0x17: 2,
  0x42: 2,
  0x43: 2,
  0x44: 2,
  0x45: 2,
  0x46: 2,
  0x47: 3,
  0x48: 3,
  0x49: 3,
  0x4a: 3,
  0x4b: 3,
}

/** Reads the beginning of a class file. @throws Error when it is damaged */
export function classHead(bytes: Buffer): ClassHead {
  const { pool, cursor } = open(bytes)
  const flags = cursor.u2()
  return { name: pool.name(cursor.u2()), isMade: (flags & ACC.SYNTHETIC) !== 0 }
}

/** Reads a class file. @throws Error when it is damaged */
export function classText(bytes: Buffer): ClassText {
  const { pool, cursor } = open(bytes)
  return new ClassTextReader(pool, cursor).read()
}

function open(bytes: Buffer): { readonly pool: ConstantPool; readonly cursor: Cursor } {
  const cursor = new Cursor(bytes)
  if (cursor.u4() !== 0xcafebabe) throw new Error('this is not a class file')
  cursor.take(4)
  return { pool: new ConstantPool(cursor), cursor }
}

class ClassTextReader {
  readonly #pool: ConstantPool
  readonly #cursor: Cursor
  readonly #made = new Set<string>()

  constructor(pool: ConstantPool, cursor: Cursor) {
    this.#pool = pool
    this.#cursor = cursor
  }

  read(): ClassText {
    const cursor = this.#cursor
    const flags = cursor.u2()
    const name = this.#pool.name(cursor.u2())
    const superName = this.#pool.text(cursor.u2())
    const interfaces = this.#references()
    // Dynamic constants refer to an attribute of the class, which comes last.
    const start = cursor.at
    this.#skipMembers()
    this.#pool.setBootstraps(this.#bootstraps())
    const ownFlags = this.#innerFlags(name)
    const attributes = this.#attributes('class')
    cursor.at = start
    const members = new Map([...this.#members(), ...this.#members()])
    return {
      name,
      header: [flags, ownFlags, superName, interfaces, attributes].join(' '),
      members,
      made: this.#made,
    }
  }

  #members(): readonly (readonly [string, string])[] {
    return Array.from({ length: this.#cursor.u2() }, () => {
      const flags = this.#cursor.u2()
      const name = this.#pool.name(this.#cursor.u2())
      const descriptor = this.#pool.name(this.#cursor.u2())
      const key = `${name}\0${descriptor}`
      if ((flags & ACC.SYNTHETIC) !== 0) this.#made.add(key)
      return [key, `${flags} ${this.#attributes('member')}`] as const
    })
  }

  #skipMembers(): void {
    this.#skipTable()
    this.#skipTable()
  }

  /** Skips the fields or the methods. */
  #skipTable(): void {
    for (let left = this.#cursor.u2(); left > 0; left--) {
      this.#cursor.take(6)
      this.#forEachAttribute(() => undefined)
    }
  }

  /** Returns the bootstrap methods, without moving. */
  #bootstraps(): readonly (readonly number[])[] {
    const found: number[][] = []
    this.#ahead((name) => {
      if (name !== 'BootstrapMethods') return
      for (let left = this.#cursor.u2(); left > 0; left--) {
        const method = this.#cursor.u2()
        found.push([method, ...Array.from({ length: this.#cursor.u2() }, () => this.#cursor.u2())])
      }
    })
    return found
  }

  /** Returns the flags of a nested class's declaration, without moving. */
  #innerFlags(own: string): number {
    let flags = 0
    this.#ahead((name) => {
      if (name !== 'InnerClasses') return
      for (let left = this.#cursor.u2(); left > 0; left--) {
        const inner = this.#pool.name(this.#cursor.u2())
        this.#cursor.take(4)
        const declared = this.#cursor.u2()
        if (inner === own) flags = declared
      }
    })
    return flags
  }

  #ahead(use: (name: string) => void): void {
    const { at } = this.#cursor
    this.#forEachAttribute(use)
    this.#cursor.at = at
  }

  #forEachAttribute(use: (name: string, length: number) => void): void {
    for (let left = this.#cursor.u2(); left > 0; left--) {
      const name = this.#pool.name(this.#cursor.u2())
      const length = this.#cursor.u4()
      const end = this.#cursor.at + length
      use(name, length)
      this.#cursor.at = end
    }
  }

  #attributes(of: 'class' | 'member'): string {
    const texts: string[] = []
    this.#forEachAttribute((name, length) => {
      if (!IGNORED.has(name)) texts.push(`${name}=${this.#attribute(name, length, of)}`)
    })
    return texts.toSorted().join(';')
  }

  #attribute(name: string, length: number, of: 'class' | 'member'): string {
    const cursor = this.#cursor
    switch (name) {
      case 'Code':
        return this.#code()
      case 'Deprecated':
      case 'Synthetic':
        return ''
      case 'ConstantValue':
      case 'NestHost':
      case 'Signature':
        return this.#reference()
      case 'EnclosingMethod':
        return `${this.#reference()}.${this.#reference()}`
      case 'Exceptions':
      case 'PermittedSubclasses':
        return this.#references()
      case 'MethodParameters':
        return this.#list(cursor.u1(), () => `${this.#reference()}:${cursor.u2()}`)
      case 'Record':
        return this.#list(
          cursor.u2(),
          () => `${this.#reference()}:${this.#reference()}:${this.#attributes('member')}`,
        )
      case 'AnnotationDefault':
        return this.#value(0)
      case 'RuntimeVisibleAnnotations':
      case 'RuntimeInvisibleAnnotations':
        return this.#annotations()
      case 'RuntimeVisibleParameterAnnotations':
      case 'RuntimeInvisibleParameterAnnotations':
        return this.#list(cursor.u1(), () => this.#annotations())
      case 'RuntimeVisibleTypeAnnotations':
      case 'RuntimeInvisibleTypeAnnotations':
        return this.#list(cursor.u2(), () => `${this.#typeTarget()}${this.#annotation(0)}`)
      default:
        // Its constants are not known: any change of the pool could change them.
        return `${of}:${cursor.hex(length)}:${this.#pool.whole()}`
    }
  }

  #code(): string {
    const cursor = this.#cursor
    // The sizes of stack and frame follow from the instructions.
    cursor.take(4)
    const length = cursor.u4()
    const end = cursor.at + length
    const instructions = instructionsOf(cursor, end, this.#pool)
    cursor.at = end
    const handlers = this.#list(cursor.u2(), () => `${cursor.hex(6)}:${this.#reference()}`)
    return `${instructions}|${handlers}|${this.#attributes('member')}`
  }

  #typeTarget(): string {
    const cursor = this.#cursor
    const type = cursor.u1()
    const isVariable = type === 0x40 || type === 0x41
    const size = isVariable ? 6 * cursor.u2() : TARGET_BYTES[type]
    if (size === undefined) throw new Error(`type annotation target ${type} is unknown`)
    const target = cursor.hex(size)
    return `${type}:${target}:${cursor.hex(2 * cursor.u1())}`
  }

  #annotations(): string {
    return this.#list(this.#cursor.u2(), () => this.#annotation(0))
  }

  #annotation(depth: number): string {
    const { at } = this.#cursor
    const isMetadata = this.#pool.name(this.#cursor.u2()) === KOTLIN_METADATA
    this.#cursor.at = at
    const type = this.#reference()
    const values = this.#list(this.#cursor.u2(), () => `${this.#reference()}:${this.#value(depth + 1)}`)
    return isMetadata ? type : type + values
  }

  #value(depth: number): string {
    if (depth > 16) throw new Error('annotations are nested too deeply')
    const tag = String.fromCodePoint(this.#cursor.u1())
    if (tag === '@') return this.#annotation(depth + 1)
    if (tag === '[') return this.#list(this.#cursor.u2(), () => this.#value(depth + 1))
    return tag === 'e' ? `e${this.#reference()}.${this.#reference()}` : tag + this.#reference()
  }

  #reference(): string {
    return this.#pool.text(this.#cursor.u2())
  }

  #references(): string {
    return this.#list(this.#cursor.u2(), () => this.#reference())
  }

  #list(count: number, read: () => string): string {
    return `[${Array.from({ length: count }, read).join(',')}]`
  }
}
