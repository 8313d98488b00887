import { CONSTANT, TARGET } from '../../../src/analyzer/bytecode/columns.ts'
import type { Facts } from '../../../src/analyzer/bytecode/facts.ts'

const kindNames = new Map<number, string>(Object.entries(CONSTANT).map(([name, kind]) => [kind, name]))
const targetNames = new Map<number, string>(Object.entries(TARGET).map(([name, kind]) => [kind, name]))

/** A class's facts for tests: strings instead of rows. */
export class ClassView {
  readonly facts: Facts
  readonly row: number

  constructor(facts: Facts, name: string) {
    this.facts = facts
    const { classes } = facts
    const row = Array.from(classes.name).findIndex((id) => facts.strings.get(id) === name)
    if (row < 0) throw new Error(`there is no class ${name} in these facts`)
    this.row = row
  }

  text(id: number | undefined): string | undefined {
    return id === undefined || id < 0 ? undefined : this.facts.strings.get(id)
  }

  /** Rows that a `first…` column refers to. */
  rows(first: Int32Array, row: number): number[] {
    const start = first[row] ?? 0
    return Array.from({ length: (first[row + 1] ?? start) - start }, (_, i) => start + i)
  }

  names(first: Int32Array, names: Int32Array): (string | undefined)[] {
    return this.rows(first, this.row).map((row) => this.text(names[row]))
  }

  method(name: string, descriptor?: string): number {
    const { methods, classes } = this.facts
    const row = this.rows(classes.firstMethod, this.row).find(
      (each) =>
        this.text(methods.name[each]) === name &&
        (descriptor === undefined || this.text(methods.descriptor[each]) === descriptor),
    )
    if (row === undefined) throw new Error(`there is no method ${name}`)
    return row
  }

  /** "one("text")" for each call to this class's own methods, "?" for an unknown value. */
  ownCalls(method: string): string[] {
    return this.calls(method).flatMap((call) => /^\w+\.(.*)$/.exec(call)?.[1] ?? [])
  }

  /** "Owner.name(constants)" for each call; the owner without its package. */
  calls(method: string): string[] {
    const { calls, methods } = this.facts
    return this.rows(methods.firstCall, this.method(method)).map((call) => {
      const owner = this.text(calls.owner[call])?.split('/').at(-1)
      return `${owner}.${this.text(calls.name[call])}(${this.#constants(call).join(', ')})`
    })
  }

  #constants(call: number): string[] {
    const { arguments: constants, calls } = this.facts
    return this.rows(calls.firstArgument, call).map(
      (row) => `${constants.index[row]}:${kindNames.get(constants.kind[row] ?? 0)} ${this.#constant(row)}`,
    )
  }

  #constant(row: number): string | undefined {
    const { kind, value, high } = this.facts.arguments
    return this.constant(kind[row] ?? 0, value[row] ?? 0, high[row] ?? 0)
  }

  constant(kind: number, low: number, high: number): string | undefined {
    const view = new DataView(new ArrayBuffer(8))
    view.setInt32(0, high)
    view.setInt32(4, low)
    switch (kind) {
      case CONSTANT.INT:
        return String(low)
      case CONSTANT.LONG:
        return String(view.getBigInt64(0))
      case CONSTANT.FLOAT:
        return String(view.getFloat32(4))
      case CONSTANT.DOUBLE:
        return String(view.getFloat64(0))
      default:
        return this.text(low)
    }
  }

  /**
   * "CLASS demo/Marked$Hidden {value: "inner"}" for each annotation of the class that is on an element
   * itself.
   */
  annotations(): string[] {
    const { annotations, classes } = this.facts
    return this.rows(classes.firstAnnotation, this.row)
      .filter((row) => annotations.targetKind[row] !== TARGET.ANNOTATION)
      .map((row) => {
        const place = annotations.parameter[row] === -1 ? '' : ` ${annotations.parameter[row]}`
        return `${targetNames.get(annotations.targetKind[row] ?? 0)}${place} ${this.annotation(row)}`
      })
  }

  annotation(row: number): string {
    const { annotations, elements } = this.facts
    const start = annotations.elementStart[row] ?? 0
    const pairs = Array.from({ length: annotations.elementCount[row] ?? 0 }, (_, i) => {
      const name = this.text(elements.name[start + i])
      return `${name === undefined ? '' : `${name}=`}${this.element(start + i)}`
    })
    return `${this.text(annotations.type[row])}(${pairs.join(', ')})`
  }

  element(row: number): string {
    const { tag, value, high } = this.facts.elements
    const low = value[row] ?? 0
    const second = high[row] ?? 0
    switch (String.fromCharCode(tag[row] ?? 0)) {
      case '[':
        return `[${Array.from({ length: second }, (_, i) => this.element(low + i)).join(', ')}]`
      case '@':
        return `@${this.annotation(low)}`
      case 'e':
        return `${this.text(second)}${this.text(low)}`
      case 's':
      case 'c':
        return String(this.text(low))
      case 'J':
        return String(this.constant(CONSTANT.LONG, low, second))
      case 'D':
        return String(this.constant(CONSTANT.DOUBLE, low, second))
      case 'F':
        return String(this.constant(CONSTANT.FLOAT, low, 0))
      default:
        return String(low)
    }
  }
}
