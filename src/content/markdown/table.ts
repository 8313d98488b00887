/** Maximum number of columns. */
const MAX_COLUMNS = 100

/** Rows of a table of GitHub Flavored Markdown, in which a cell is one line. */
export class Table {
  readonly #rows: string[][] = []
  #hasHead = false

  addRow(): void {
    this.#rows.push([])
  }

  /** Adds a cell of the last row. @param isHead whether it is a heading @param span number of columns */
  addCell(text: string, isHead: boolean, span: number): void {
    if (this.#rows.length === 0) this.addRow()
    const row = this.#rows.at(-1) ?? []
    if (isHead && this.#rows.length === 1) this.#hasHead = true
    const cell = text.replaceAll('|', String.raw`\|`).split('\n')
    const lines = cell.map((line) => line.trim()).filter((line) => line !== '')
    for (let column = 0; column < span && row.length < MAX_COLUMNS; column++)
      row.push(column === 0 ? lines.join('<br>') : '')
  }

  /** Returns the lines of the table; none if no cell has text. */
  format(): readonly string[] {
    const rows = this.#rows.filter((row) => row.some((cell) => cell !== ''))
    if (rows.length === 0) return []
    const columns = Math.max(...new Set(rows.map(({ length }) => length)))
    const empty = Array.from({ length: columns }, () => '')
    const hasHead = this.#hasHead && rows[0] === this.#rows[0]
    const [head = empty, ...body] = hasHead ? rows : [empty, ...rows]
    const rule = Array.from({ length: columns }, () => '---')
    return [[...head, ...empty.slice(head.length)], rule, ...body].map((row) => `| ${row.join(' | ')} |`)
  }
}
