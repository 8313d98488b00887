/** Resolved constants nest this deep: a dynamic constant can have others as arguments (threat A5). */
const MAX_DEPTH = 8
const MAX_LENGTH = 2 ** 22

const TAG = {
  UTF8: 1,
  LONG: 5,
  DOUBLE: 6,
  CLASS: 7,
  STRING: 8,
  METHOD_HANDLE: 15,
  METHOD_TYPE: 16,
  DYNAMIC: 17,
  INVOKE_DYNAMIC: 18,
  MODULE: 19,
  PACKAGE: 20,
} as const

/** Bytes after the tag of each constant (JVMS §4.4), besides Utf8. */
const SIZES: Readonly<Record<number, number>> = {
  3: 4,
  4: 4,
  5: 8,
  6: 8,
  7: 2,
  8: 2,
  9: 4,
  10: 4,
  11: 4,
  12: 4,
  15: 3,
  16: 2,
  17: 4,
  18: 4,
  19: 2,
  20: 2,
}

/** Reads big-endian numbers from a class file. A read past the end throws a RangeError. */
export class Cursor {
  readonly bytes: Buffer
  at: number

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes
    this.at = at
  }

  u1(): number {
    return this.bytes.readUInt8(this.at++)
  }

  u2(): number {
    this.at += 2
    return this.bytes.readUInt16BE(this.at - 2)
  }

  u4(): number {
    this.at += 4
    return this.bytes.readUInt32BE(this.at - 4)
  }

  /** Returns the next bytes as hexadecimal text. */
  hex(count: number): string {
    return this.take(count).toString('hex')
  }

  take(count: number): Buffer {
    if (this.at + count > this.bytes.length) throw new RangeError('the class file is truncated')
    this.at += count
    return this.bytes.subarray(this.at - count, this.at)
  }
}

/** Resolves the constants of a class file to text, which does not depend on their numbers. */
export class ConstantPool {
  readonly #bytes: Buffer
  /** Offset of each constant's tag; 0 for unusable numbers. */
  readonly #offsets: number[] = [0]
  /** Bootstrap methods with their arguments, as numbers of constants. */
  #bootstraps: readonly (readonly number[])[] = []
  readonly #resolved = new Map<number, string>()

  /** Reads the pool at a cursor, which is then behind it. @throws Error for an unknown tag */
  constructor(cursor: Cursor) {
    this.#bytes = cursor.bytes
    const count = cursor.u2()
    while (this.#offsets.length < count) {
      this.#offsets.push(cursor.at)
      const tag = cursor.u1()
      const size = tag === TAG.UTF8 ? cursor.u2() : SIZES[tag]
      if (size === undefined) throw new Error(`constant tag ${tag} is unknown`)
      cursor.take(size)
      if (tag === TAG.LONG || tag === TAG.DOUBLE) this.#offsets.push(0)
    }
  }

  /** Sets what dynamic constants refer to. */
  setBootstraps(bootstraps: readonly (readonly number[])[]): void {
    this.#bootstraps = bootstraps
  }

  /** Returns the text of a Utf8 constant, or the name of a class. */
  name(index: number): string {
    let cursor = this.#cursorOf(index)
    let tag = cursor.u1()
    if (tag === TAG.CLASS) {
      cursor = this.#cursorOf(cursor.u2())
      tag = cursor.u1()
    }
    if (tag !== TAG.UTF8) throw new Error(`constant ${index} is not a name`)
    return cursor.take(cursor.u2()).toString('utf8')
  }

  /** Returns a text for a constant with everything it refers to; '' for constant 0. */
  text(index: number, depth = 0): string {
    if (index === 0) return ''
    const known = this.#resolved.get(index)
    if (known !== undefined) return known
    if (depth > MAX_DEPTH) throw new Error('constants are nested too deeply')
    const text = this.#resolve(this.#cursorOf(index), depth + 1)
    if (text.length > MAX_LENGTH) throw new Error('constants are nested too deeply')
    this.#resolved.set(index, text)
    return text
  }

  /** Returns a text for all constants, for what cannot be resolved. */
  whole(): string {
    return this.#offsets.map((offset, index) => (offset === 0 ? '' : this.text(index))).join('\n')
  }

  #cursorOf(index: number): Cursor {
    const offset = this.#offsets[index] ?? 0
    if (offset === 0) throw new Error(`constant ${index} does not exist`)
    return new Cursor(this.#bytes, offset)
  }

  #resolve(cursor: Cursor, depth: number): string {
    const tag = cursor.u1()
    const text = (): string => this.text(cursor.u2(), depth)
    switch (tag) {
      case TAG.UTF8:
        return JSON.stringify(cursor.take(cursor.u2()).toString('latin1'))
      case TAG.CLASS:
      case TAG.STRING:
      case TAG.METHOD_TYPE:
      case TAG.MODULE:
      case TAG.PACKAGE:
        return `${tag}:${text()}`
      case TAG.METHOD_HANDLE:
        return `${tag}:${cursor.u1()}:${text()}`
      case TAG.DYNAMIC:
      case TAG.INVOKE_DYNAMIC: {
        const bootstrap = this.#bootstraps[cursor.u2()] ?? []
        return `${tag}:[${bootstrap.map((each) => this.text(each, depth)).join(',')}]${text()}`
      }
      default:
        // References and names with types refer to two others; numbers are their own text.
        if (tag >= 9 && tag <= 12) return `${tag}:${text()}.${text()}`
        return `${tag}:${cursor.hex(SIZES[tag] ?? 0)}`
    }
  }
}
