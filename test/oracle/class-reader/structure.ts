import { ClassFormatError } from './class-format-error.ts'

/** Bytes of constants by tag, without the tag (JVMS §4.4). */
export const CONSTANT_BYTES: ReadonlyMap<number, number> = new Map([
  [3, 4],
  [4, 4],
  [5, 8],
  [6, 8],
  [7, 2],
  [8, 2],
  [9, 4],
  [10, 4],
  [11, 4],
  [12, 4],
  [15, 3],
  [16, 2],
  [17, 4],
  [18, 4],
  [19, 2],
  [20, 2],
])
const UTF8 = 1

/**
 * Checks that all lengths and counts of a class file stay within it, because java-class-tools trusts them and
 * would allocate or loop accordingly.
 *
 * @throws ClassFormatError
 */
export function checkStructure(bytes: Uint8Array): void {
  const walk = new StructureWalk(bytes)
  if (walk.number(4) !== 0xcafebabe) throw new ClassFormatError(0, 'the first four bytes are not CAFEBABE')
  walk.skip(2)
  const major = walk.number(2)
  if (major < 45) throw new ClassFormatError(6, `major_version is ${major}, below 45`)
  walk.pool()
  walk.skip(6)
  walk.skip(walk.number(2) * 2)
  for (let table = 0; table < 2; table++) {
    for (let members = walk.number(2); members > 0; members--) {
      walk.skip(6)
      walk.attributes()
    }
  }
  walk.attributes()
  walk.end()
}

class StructureWalk {
  readonly #view: DataView
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  skip(count: number): void {
    const left = this.#view.byteLength - this.#at
    if (count > left)
      throw new ClassFormatError(this.#at, `expected ${count} more bytes, only ${left} are left`)
    this.#at += count
  }

  number(width: 1 | 2 | 4): number {
    const at = this.#at
    this.skip(width)
    return width === 1
      ? this.#view.getUint8(at)
      : width === 2
        ? this.#view.getUint16(at)
        : this.#view.getUint32(at)
  }

  pool(): void {
    const start = this.#at
    const count = this.number(2)
    if (count === 0) throw new ClassFormatError(start, 'constant_pool_count is 0')
    for (let index = 1; index < count; index++) {
      const at = this.#at
      const tag = this.number(1)
      const width = tag === UTF8 ? this.number(2) : CONSTANT_BYTES.get(tag)
      if (width === undefined) throw new ClassFormatError(at, `constant ${index} has the unknown tag ${tag}`)
      this.skip(width)
      // JVMS §4.4.5: 8-byte constants take two indices.
      if (tag === 5 || tag === 6) index++
      if (index >= count)
        throw new ClassFormatError(at, `constant ${index - 1} needs two indices, only one is left`)
    }
  }

  attributes(): void {
    for (let left = this.number(2); left > 0; left--) {
      this.skip(2)
      this.skip(this.number(4))
    }
  }

  end(): void {
    const left = this.#view.byteLength - this.#at
    if (left > 0) throw new ClassFormatError(this.#at, `${left} bytes follow the class`)
  }
}
