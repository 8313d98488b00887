import { columns, type ColumnType } from '../columns.ts'
import { factsLayout } from '../facts.ts'

type Rows<Columns> = { readonly [Name in keyof Columns]: number[] }
type Tables = { readonly [Name in keyof typeof columns]: Rows<(typeof columns)[Name]> }

/** Which column says how many rows a `first…` column points into. */
const pointedAt: Readonly<Record<string, (tables: Tables) => number[]>> = {
  firstInterface: (tables) => tables.interfaces.name,
  firstPermittedSubclass: (tables) => tables.permittedSubclasses.name,
  firstNestMember: (tables) => tables.nestMembers.name,
  firstInnerClass: (tables) => tables.innerClasses.innerClass,
  firstRecordComponent: (tables) => tables.recordComponents.name,
  firstModuleDirective: (tables) => tables.moduleDirectives.kind,
  firstField: (tables) => tables.fields.name,
  firstMethod: (tables) => tables.methods.name,
  firstReference: (tables) => tables.references.name,
  firstAnnotation: (tables) => tables.annotations.type,
  firstException: (tables) => tables.exceptions.name,
  firstParameter: (tables) => tables.parameters.name,
  firstCall: (tables) => tables.calls.owner,
  firstFieldAccess: (tables) => tables.fieldAccesses.owner,
  firstTypeReference: (tables) => tables.typeReferences.name,
  firstDynamicCall: (tables) => tables.dynamicCalls.name,
  firstArgument: (tables) => tables.arguments.index,
}

const bytesPer: Readonly<Record<ColumnType, number>> = { i32: 4, u16: 2, u8: 1 }

/** Collects rows and packs them into the buffer that `openFacts` reads. */
export class FactsBuilder {
  readonly tables: Tables
  readonly #ids = new Map<string, number>()
  readonly #columns: readonly {
    readonly name: string
    readonly type: ColumnType
    readonly values: number[]
  }[]
  #mark: readonly number[] = []

  constructor() {
    const tables: Record<string, Record<string, number[]>> = {}
    const all: { name: string; type: ColumnType; values: number[] }[] = []
    for (const [table, each] of Object.entries(columns)) {
      const own: Record<string, number[]> = (tables[table] = {})
      for (const [name, type] of Object.entries(each)) all.push({ name, type, values: (own[name] = []) })
    }
    this.tables = tables as unknown as Tables
    this.#columns = all
  }

  /** The id of a string. */
  intern(text: string): number {
    const known = this.#ids.get(text)
    if (known !== undefined) return known
    const id = this.#ids.size
    this.#ids.set(text, id)
    return id
  }

  /** Appends a row; the `first…` columns are set to where their tables end now. Returns its number. */
  add<Name extends keyof Tables>(
    table: Name,
    row: Readonly<Partial<Record<keyof Tables[Name], number>>>,
  ): number {
    const own = this.tables[table] as Readonly<Record<string, number[]>>
    let at = 0
    for (const [name, values] of Object.entries(own)) {
      const given = (row as Readonly<Record<string, number>>)[name]
      at = values.push(given ?? pointedAt[name]?.(this.tables).length ?? 0) - 1
    }
    return at
  }

  /** From here on rows may be taken back; strings stay. */
  mark(): void {
    this.#mark = this.#columns.map(({ values }) => values.length)
  }

  takeBack(): void {
    for (const [index, { values }] of this.#columns.entries()) values.length = this.#mark[index] ?? 0
  }

  /** Ends the `first…` columns; nothing may be added after it. */
  pack(): ArrayBuffer {
    for (const { name, values } of this.#columns) {
      const pointed = pointedAt[name]?.(this.tables)
      if (pointed !== undefined) values.push(pointed.length)
    }
    const strings = [...this.#ids.keys()].map((text) => encodeWtf8(text))
    const offsets = [0]
    for (const bytes of strings) offsets.push((offsets.at(-1) ?? 0) + bytes.length)
    const all: readonly { readonly type: ColumnType; readonly values: ArrayLike<number> }[] = [
      { type: 'u8', values: Buffer.concat(strings) },
      { type: 'i32', values: offsets },
      ...this.#columns,
    ]
    const starts: number[] = []
    let end = aligned((1 + 2 * all.length) * 4)
    for (const { type, values } of all) {
      starts.push(end)
      end = aligned(end + values.length * bytesPer[type])
    }
    const buffer = new ArrayBuffer(end)
    const header = new Uint32Array(buffer, 0, 1 + 2 * all.length)
    header[0] = factsLayout.split(' ').length
    for (const [index, { type, values }] of all.entries()) {
      const start = starts[index] ?? 0
      header[1 + 2 * index] = start
      header[2 + 2 * index] = values.length
      const view = { i32: Int32Array, u16: Uint16Array, u8: Uint8Array }[type]
      new view(buffer, start, values.length).set(values)
    }
    return buffer
  }
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / 8) * 8
}

function encodeWtf8(text: string): Buffer {
  if (text.isWellFormed()) return Buffer.from(text)
  const parts = Array.from(text, (character) => {
    const code = character.codePointAt(0) ?? 0
    const isAlone = code >= 0xd800 && code < 0xe000
    return isAlone
      ? Buffer.from([0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)])
      : Buffer.from(character)
  })
  return Buffer.concat(parts)
}
