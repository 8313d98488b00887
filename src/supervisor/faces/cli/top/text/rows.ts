import { cut, cutCells, safeText, widthOf } from './cells.ts'

/** Look of a piece of text. */
export type Style =
  'plain' | 'bold' | 'dim' | 'inverse' | 'hit' | 'red' | 'green' | 'yellow' | 'cyan' | 'magenta' | 'blue'

/** A piece of a row in one style. */
export interface Span {
  readonly text: string
  readonly style: Style
}

/** A row of the screen. */
export type Row = readonly Span[]

const ATTRIBUTES: Readonly<Partial<Record<Style, number>>> = { bold: 1, dim: 2, hit: 4, inverse: 7 }
const COLORS: Readonly<Partial<Record<Style, number>>> = {
  hit: 93,
  red: 31,
  green: 32,
  yellow: 33,
  blue: 34,
  magenta: 35,
  cyan: 36,
}

/** Creates a span of text of any origin. */
export function span(text: string, style: Style = 'plain'): Span {
  return { text: safeText(text).replaceAll('\t', ' '), style }
}

/** Returns the number of columns of a row. */
export function rowWidth(row: Row): number {
  return row.reduce((sum, { text }) => sum + widthOf(text), 0)
}

/** Cuts or pads a row to exactly `columns` columns; the padding has the style of its last span. */
export function fitRow(row: Row, columns: number): Row {
  const fitted: Span[] = []
  let rest = columns
  for (const each of row) {
    if (rest <= 0) break
    const text = cut(each.text, rest)
    fitted.push({ text, style: each.style })
    const isCut = widthOf(each.text) > rest
    rest -= widthOf(text)
    if (isCut) break
  }
  if (rest > 0) fitted.push({ text: ' '.repeat(rest), style: row.at(-1)?.style ?? 'plain' })
  return fitted
}

/** Returns a row with text at both of its ends; the left one is cut if they do not fit. */
export function spread(left: Row, right: Row, columns: number): Row {
  const width = rowWidth(right)
  return width >= columns ? fitRow(left, columns) : [...fitRow(left, columns - width), ...right]
}

/** Returns a row of one text in one style, with exactly `columns` columns. */
export function textRow(text: string, columns: number, style: Style = 'plain'): Row {
  return fitRow([span(text, style)], columns)
}

/** Splits safe text, cut to `columns`, into spans, of which those in a range of `hits` are highlighted. */
export function highlighted(
  text: string,
  columns: number,
  hits: readonly (readonly [from: number, to: number])[],
  style: Style = 'plain',
): Row {
  if (hits.length === 0) return [span(cut(text, columns), style)]
  const row: { text: string; style: Style }[] = []
  let next = 0
  for (const cell of cutCells(text, columns)) {
    while ((hits[next]?.[1] ?? Number.POSITIVE_INFINITY) <= cell.at) next++
    const isHit = (hits[next]?.[0] ?? Number.POSITIVE_INFINITY) <= cell.at
    const wanted = isHit ? 'hit' : style
    const last = row.at(-1)
    if (last?.style === wanted) last.text += cell.text
    else row.push({ text: cell.text, style: wanted })
  }
  return row
}

/** Formats a row for a terminal. @param hasColor whether colors are allowed; other attributes always are */
export function paintRow(row: Row, hasColor: boolean): string {
  return row
    .map(({ text, style }) => {
      const codes = [ATTRIBUTES[style], hasColor ? COLORS[style] : undefined].filter(
        (code) => code !== undefined,
      )
      return codes.length === 0 ? text : `\u001b[${codes.join(';')}m${text}\u001b[0m`
    })
    .join('')
}
