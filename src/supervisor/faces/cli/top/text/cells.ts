import stringWidth from 'string-width'
import { shownLine } from '../../paint.ts'

/** A character as people see it, with the columns that it occupies. */
interface Cell {
  readonly text: string
  readonly width: number
  /** Index of its first code unit in the source text. */
  readonly at: number
}

const TAB = 8
/** Longest cluster of code units that is drawn; longer ones are piles of marks. */
const MAX_CLUSTER = 32
const REPLACEMENT = '�'
const ASCII = /^[ -~]*$/
/** Characters that change the direction of text, with which a line could rearrange the row. */
const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

const segmenter = new Intl.Segmenter()

/** Makes text of any origin safe for the screen (threat H10). Tabs remain. */
export function safeText(text: string): string {
  if (ASCII.test(text)) return text
  return shownLine(text).replace(DIRECTION, REPLACEMENT).toWellFormed()
}

/** Splits text into characters as people see them. */
export function charactersOf(text: string): readonly string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}

/** Returns the number of columns of safe text without tabs. */
export function widthOf(text: string): number {
  return ASCII.test(text) ? text.length : stringWidth(text)
}

/** Splits safe text into cells, with tabs as spaces up to the next multiple of eight columns. */
function* cellsOf(text: string): Generator<Cell, void, void> {
  let column = 0
  const isPlain = ASCII.test(text.replaceAll('\t', ''))
  const parts = isPlain ? asciiParts(text) : segmenter.segment(text)
  for (const { segment, index } of parts) {
    const shown =
      segment === '\t'
        ? ' '.repeat(TAB - (column % TAB))
        : segment.length > MAX_CLUSTER
          ? REPLACEMENT
          : segment
    const width = widthOf(shown)
    yield { text: shown, width, at: index }
    column += width
  }
}

function* asciiParts(text: string): Generator<{ readonly segment: string; readonly index: number }> {
  for (let index = 0; index < text.length; index++) yield { segment: text.charAt(index), index }
}

/** Returns the cells of safe text in at most `columns` columns, with an ellipsis if something is left out. */
export function cutCells(text: string, columns: number): readonly Cell[] {
  const cells: Cell[] = []
  let width = 0
  for (const cell of cellsOf(text)) {
    if (width + cell.width > columns) {
      while (width >= columns && cells.length > 0) width -= cells.pop()?.width ?? 0
      return columns <= 0 ? [] : [...cells, { text: '…', width: 1, at: cell.at }]
    }
    cells.push(cell)
    width += cell.width
  }
  return cells
}

/** Cuts safe text to at most `columns` columns, with an ellipsis if something is left out. */
export function cut(text: string, columns: number): string {
  if (ASCII.test(text) && text.length <= columns) return text
  return cutCells(text, columns)
    .map((cell) => cell.text)
    .join('')
}

/** Cuts or pads safe text to exactly `columns` columns. */
export function fit(text: string, columns: number, align: 'left' | 'right' = 'left'): string {
  const shown = cut(text, columns)
  const padding = ' '.repeat(Math.max(0, columns - widthOf(shown)))
  return align === 'left' ? shown + padding : padding + shown
}

/** Breaks safe text into at most `maxRows` rows of at most `columns` columns, at spaces where possible. */
export function wrap(text: string, columns: number, maxRows = Number.POSITIVE_INFINITY): readonly string[] {
  const rows: string[] = []
  let row = ''
  let width = 0
  for (const cell of cellsOf(text)) {
    if (width + cell.width > columns && row !== '') {
      // A word that is longer than half a row is broken where the row ends.
      const space = cell.text === ' ' ? row.length : row.lastIndexOf(' ') + 1
      const at = space > row.length / 2 ? space : row.length
      rows.push(row.slice(0, at).trimEnd())
      if (rows.length >= maxRows) return rows
      row = row.slice(at)
      width = widthOf(row)
      if (cell.text === ' ') continue
    }
    row += cell.text
    width += cell.width
  }
  return [...rows, row]
}
