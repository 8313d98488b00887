const NONE = -1

/**
 * Distinct numbers by id from 0. A number costs at most 20 bytes, while an entry of a `Map` costs over 50.
 */
export class NumberPool {
  #values = new Float64Array(256)
  #count = 0
  /** Hash table with open addressing, at most half full. */
  #slots = new Int32Array(512).fill(NONE)

  get count(): number {
    return this.#count
  }

  /** Returns the number with an id. */
  get(id: number): number {
    return this.#values[id] ?? NaN
  }

  /** Returns the id of a number, or -1. */
  find(value: number): number {
    return this.#slots[this.#slotOf(value)] ?? NONE
  }

  /** Returns the id of a number, which is added if it is new. */
  idOf(value: number): number {
    const slot = this.#slotOf(value)
    const existing = this.#slots[slot] ?? NONE
    if (existing !== NONE) return existing
    const id = this.#count++
    if (id === this.#values.length) {
      const larger = new Float64Array(2 * id)
      larger.set(this.#values)
      this.#values = larger
    }
    this.#values[id] = value
    this.#slots[slot] = id
    if (2 * this.#count > this.#slots.length) this.#rehash()
    return id
  }

  #slotOf(value: number): number {
    const mask = this.#slots.length - 1
    // Both halves of a number of up to 53 bits.
    const low = value % 2 ** 26
    const mixed = Math.imul(low ^ Math.imul((value - low) / 2 ** 26, 0x9e3779b1), 0x85ebca6b)
    for (let slot = (mixed ^ (mixed >>> 15)) & mask; ; slot = (slot + 1) & mask) {
      const id = this.#slots[slot] ?? NONE
      if (id === NONE || this.#values[id] === value) return slot
    }
  }

  #rehash(): void {
    this.#slots = new Int32Array(2 * this.#slots.length).fill(NONE)
    for (let id = 0; id < this.#count; id++) this.#slots[this.#slotOf(this.#values[id] ?? 0)] = id
  }
}
