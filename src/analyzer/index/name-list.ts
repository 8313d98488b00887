import { matchNames, type NamePart, type NameTable } from '../../native/match-names.ts'

/** Marks matching names with 1, by name id. */
export type NameSet = Uint8Array

interface NameSource {
  readonly table: () => NameTable
}

/** Length of the prefix cached for each name. */
const HEAD_BYTES = 4

/**
 * Names to match patterns against. Caches a prefix of four bytes for each part of a name, so that a pattern
 * with a literal start is matched against few names.
 */
export class NameList {
  readonly ids: Int32Array
  readonly #names: NameSource
  readonly #heads = new Map<NamePart, readonly Uint32Array[]>()

  /** @param ids in ascending order, which is their order in memory */
  constructor(names: NameSource, ids: Int32Array) {
    this.#names = names
    this.ids = ids
  }

  /** Returns the names of which a part matches a pattern; `*` matches any text. */
  match(pattern: string, part: NamePart): NameSet {
    return matchNames(this.#names.table(), this.#likely(pattern, part), pattern, part)
  }

  #likely(pattern: string, part: NamePart): Int32Array {
    const [start = ''] = pattern.split('*', 1)
    const wanted = Buffer.from(start).subarray(0, HEAD_BYTES)
    if (wanted.length === 0) return this.ids
    const head = headOf(wanted, 0, wanted.length)
    // Mask for the bytes that the pattern's literal start covers.
    const mask = (0xff_ff_ff_ff << (8 * (HEAD_BYTES - wanted.length))) >>> 0
    const [heads = new Uint32Array(), others = heads] = this.#headsOf(part)
    const { ids } = this
    const likely = new Int32Array(ids.length)
    let count = 0
    for (let i = 0; i < ids.length; i++) {
      if (((heads[i] ?? 0) & mask) >>> 0 === head || ((others[i] ?? 0) & mask) >>> 0 === head)
        likely[count++] = ids[i] ?? 0
    }
    return likely.subarray(0, count)
  }

  /**
   * Returns the prefixes of a part of each name; for a class the prefixes of the whole name, then of the
   * simple name.
   */
  #headsOf(part: NamePart): readonly Uint32Array[] {
    let heads = this.#heads.get(part)
    if (heads === undefined) {
      const isClass = part === 'className' || part === 'descriptor'
      const { bytes, offsets } = this.#names.table()
      const startsAt = part === 'descriptor' ? 1 : 0
      const all = (at: (start: number, end: number) => number): Uint32Array =>
        Uint32Array.from(this.ids, (id) => {
          const end = offsets[id + 1] ?? 0
          return headOf(bytes, at((offsets[id] ?? 0) + startsAt, end), end)
        })
      const simple = (start: number, end: number) => simpleNameAt(bytes, start, end - startsAt)
      heads = isClass ? [all((start) => start), all(simple)] : [all((start) => start)]
      this.#heads.set(part, heads)
    }
    return heads
  }
}

/** Returns the first bytes as a big-endian number, padded with zeros. */
function headOf(bytes: Uint8Array, start: number, end: number): number {
  let head = 0
  for (let i = 0; i < HEAD_BYTES; i++) head = head * 256 + (start + i < end ? (bytes[start + i] ?? 0) : 0)
  return head
}

const [SLASH, DOLLAR, ZERO, NINE] = [0x2f, 0x24, 0x30, 0x39]

/**
 * Returns the start of the simple name in an internal name: after the last "$" and a local class's digits.
 */
function simpleNameAt(bytes: Uint8Array, start: number, end: number): number {
  const slash = lastOf(SLASH, bytes, start, end)
  const name = slash === undefined ? start : slash + 1
  let at = (lastOf(DOLLAR, bytes, name, end) ?? end) + 1
  while (at < end && (bytes[at] ?? 0) >= ZERO && (bytes[at] ?? 0) <= NINE) at++
  return at < end ? at : name
}

function lastOf(byte: number, bytes: Uint8Array, start: number, end: number): number | undefined {
  for (let at = end - 1; at >= start; at--) if (bytes[at] === byte) return at
  return undefined
}
