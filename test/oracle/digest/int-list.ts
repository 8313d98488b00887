/** A growing list of whole numbers of 32 bits. */
export class IntList {
  #values = new Int32Array(1024)
  #length = 0

  get length(): number {
    return this.#length
  }

  push(value: number): void {
    if (this.#length === this.#values.length) {
      const larger = new Int32Array(2 * this.#length)
      larger.set(this.#values)
      this.#values = larger
    }
    this.#values[this.#length++] = value
  }

  at(index: number): number {
    return this.#values[index] ?? 0
  }

  set(index: number, value: number): void {
    this.#values[index] = value
  }

  clear(): void {
    this.#length = 0
  }

  /** The values at the indexes. */
  picked(indexes: Int32Array): Int32Array {
    const picked = new Int32Array(indexes.length)
    for (let i = 0; i < indexes.length; i++) picked[i] = this.#values[indexes[i] ?? 0] ?? 0
    return picked
  }

  values(): Int32Array {
    return this.#values.slice(0, this.#length)
  }
}
