import { columns } from '../../../src/analyzer/bytecode/columns.ts'
import { packTables, tableOf } from '../pack-tables.ts'

type Rows<Columns> = { readonly [Name in keyof Columns]: number[] }
type Tables = { readonly [Name in keyof typeof columns]: Rows<(typeof columns)[Name]> }

/** Column that determines the number of rows of the table a `first…` column refers to. */
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

/** Collects rows and packs them into the buffer that `openFacts` reads. */
export class FactsBuilder {
  readonly tables: Tables
  readonly #ids = new Map<string, number>()
  readonly #texts: string[] = []
  readonly #columns: readonly { readonly name: string; readonly values: number[] }[]
  #mark: readonly number[] = []

  constructor() {
    const tables: Record<string, Record<string, number[]>> = {}
    const all: { name: string; values: number[] }[] = []
    for (const [table, each] of Object.entries(columns)) {
      const own: Record<string, number[]> = (tables[table] = {})
      for (const name of Object.keys(each)) all.push({ name, values: (own[name] = []) })
    }
    this.tables = tables as unknown as Tables
    this.#columns = all
  }

  /** Returns the id of a string. */
  intern(text: string): number {
    const known = this.#ids.get(text)
    if (known !== undefined) return known
    const id = this.#ids.size
    this.#ids.set(text, id)
    this.#texts.push(text)
    return id
  }

  text(id: number): string {
    return this.#texts[id] ?? ''
  }

  /** Appends a row, and sets its `first…` columns to the current end of their tables. Returns its number. */
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

  /** Marks the state to which rows can be reset; strings stay. */
  mark(): void {
    this.#mark = this.#columns.map(({ values }) => values.length)
  }

  takeBack(): void {
    for (const [index, { values }] of this.#columns.entries()) values.length = this.#mark[index] ?? 0
  }

  /** Completes the `first…` columns; nothing may be added afterwards. */
  pack(): ArrayBuffer {
    for (const { name, values } of this.#columns) {
      const pointed = pointedAt[name]?.(this.tables)
      if (pointed !== undefined) values.push(pointed.length)
    }
    return packTables(columns, this.tables, tableOf([...this.#ids.keys()]))
  }
}
