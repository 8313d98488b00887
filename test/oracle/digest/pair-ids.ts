import { IntList } from './int-list.ts'

const NONE = -1

/** Distinct pairs of whole numbers, by id from 0. */
export class PairIds {
  readonly #firsts = new IntList()
  readonly #seconds = new IntList()
  /** Open addressing; at most half full. */
  #slots = new Int32Array(1024).fill(NONE)

  get count(): number {
    return this.#firsts.length
  }

  idOf(first: number, second: number): number {
    const slot = this.#slotOf(first, second)
    const known = this.#slots[slot] ?? NONE
    if (known !== NONE) return known
    const id = this.count
    this.#slots[slot] = id
    this.#firsts.push(first)
    this.#seconds.push(second)
    if (2 * this.count > this.#slots.length) this.#rehash()
    return id
  }

  firsts(): Int32Array {
    return this.#firsts.values()
  }

  seconds(): Int32Array {
    return this.#seconds.values()
  }

  #slotOf(first: number, second: number): number {
    const mask = this.#slots.length - 1
    const hash = Math.imul(Math.imul(first, 0x9e3779b1) ^ second, 0x85ebca6b)
    for (let slot = (hash ^ (hash >>> 15)) & mask; ; slot = (slot + 1) & mask) {
      const id = this.#slots[slot] ?? NONE
      if (id === NONE || (this.#firsts.at(id) === first && this.#seconds.at(id) === second)) return slot
    }
  }

  #rehash(): void {
    this.#slots = new Int32Array(2 * this.#slots.length).fill(NONE)
    for (let id = 0; id < this.count; id++)
      this.#slots[this.#slotOf(this.#firsts.at(id), this.#seconds.at(id))] = id
  }
}
