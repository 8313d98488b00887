import { CONSTANT } from '../../../src/analyzer/bytecode/columns.ts'

/** A constant: `kind` of CONSTANT; `low` an int, a float's bits or the low half of 64 bits; `text` for STRING and CLASS. */
export interface Value {
  readonly kind: number
  readonly low?: number
  readonly high?: number
  readonly text?: string
}

const { LONG, DOUBLE } = CONSTANT

export function isWide(value: Value | undefined): boolean {
  return value?.kind === LONG || value?.kind === DOUBLE
}

/**
 * Operand stack and local variables, as far as one block of code determines them: a block starts with unknown
 * values at every jump target. A long or double takes two slots, and the first of them holds the value.
 */
export class Frame {
  readonly #maxStack: number
  readonly #maxLocals: number
  #stack: (Value | undefined)[] = []
  readonly #locals = new Map<number, Value>()

  constructor(maxStack: number, maxLocals: number) {
    this.#maxStack = maxStack
    this.#maxLocals = maxLocals
  }

  startBlock(): void {
    this.#stack = []
    this.#locals.clear()
  }

  push(value?: Value, slots = 1): void {
    for (let slot = 0; slot < slots; slot++) {
      // Only code that the JVM rejects exceeds max_stack; its effect does not matter.
      if (this.#stack.length === this.#maxStack + 2) this.#stack = []
      this.#stack.push(slot === 0 ? value : undefined)
    }
  }

  /** Values below the known part are unknown, so popping more than exists leaves an empty stack. */
  pop(slots: number): void {
    this.#stack.length = Math.max(0, this.#stack.length - slots)
  }

  /** Returns the value `slots` below the top: 1 is the topmost slot. */
  peek(slots: number): Value | undefined {
    return this.#stack[this.#stack.length - slots]
  }

  /** Copies the topmost `count` slots and inserts them below `under` further slots: dup, dup_x1 … dup2_x2. */
  duplicate(count: number, under: number): void {
    const taken = Array.from({ length: count + under }, (_, i) => this.peek(i + 1)).toReversed()
    this.pop(taken.length)
    for (const value of [...taken.slice(under), ...taken]) this.push(value)
  }

  swap(): void {
    const top = this.peek(1)
    const below = this.peek(2)
    this.pop(2)
    this.push(top)
    this.push(below)
  }

  load(index: number): Value | undefined {
    return this.#locals.get(index)
  }

  store(index: number, slots: number): void {
    const value = this.peek(slots)
    this.pop(slots)
    // The second half of a preceding long or double is overwritten.
    if (isWide(this.load(index - 1))) this.forget(index - 1)
    this.forget(index)
    if (value !== undefined && index < this.#maxLocals) this.#locals.set(index, value)
    if (slots === 2) this.forget(index + 1)
  }

  forget(index: number): void {
    this.#locals.delete(index)
  }
}
