/** Characters per token of a language model; a low estimate for code and names. */
export const CHARACTERS_PER_TOKEN = 3

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
type JsonObject = Readonly<Record<string, Json>>

/** Position of an answer's list in all rows, if the server pages it. */
interface Window {
  readonly offset: number
  readonly total: number | undefined
}

/** The answer to a request: a text, or an object of which `window` describes the longest list. */
export interface ToolAnswer {
  readonly found: Readonly<Record<string, unknown>> | string
  readonly window?: Window
}

/** The part of an answer that an agent wants. */
export interface Wanted {
  readonly offset: number
  readonly maxTokens: number
  /** Aborts when the agent cancels its request. */
  readonly signal: AbortSignal
}

/**
 * Formats an answer as compact text within a token budget: single values first, then short lists, then long
 * ones. Each list is truncated at its share of the budget, and then ends with the number of omitted rows and
 * the `offset` that continues it.
 *
 * @param answer response of the server, a text or an object
 * @param window of the list that `offset` applies to
 */
export function fitAnswer(answer: unknown, maxTokens: number, window?: Window): string {
  const budget = maxTokens * CHARACTERS_PER_TOKEN
  if (typeof answer === 'string') return cutText(answer, budget)
  const main = mainList(answer as JsonObject)
  const singles: string[] = []
  const lists: List[] = []
  for (const [key, value] of Object.entries(answer as JsonObject)) {
    if (isEmpty(value)) singles.push(`${key}: none`)
    else if (isScalar(value)) singles.push(`${key}: ${scalarText(value)}`)
    else lists.push({ key, items: itemsOf(key, value), window: key === main ? window : undefined })
  }
  const head = singles.join('\n')
  const parts = head === '' ? [] : [cutText(head, budget)]
  let left = budget - head.length
  // Short lists leave their unused budget to the long ones.
  const byLength = lists.toSorted((a, b) => lengthOf(a) - lengthOf(b))
  for (const [at, list] of byLength.entries()) {
    const text = listText(list, Math.max(0, left) / (byLength.length - at))
    left -= text.length
    parts.push(text)
  }
  return parts.join('\n')
}

/** Drops the first rows of an answer's longest list, as `offset` wants. */
export function rowsFrom(found: ToolAnswer['found'], offset: number): ToolAnswer {
  if (typeof found === 'string') return { found }
  const main = mainList(found as JsonObject)
  if (main === undefined) return { found }
  const rows = found[main] as readonly unknown[]
  return { found: { ...found, [main]: rows.slice(offset) }, window: { offset, total: rows.length } }
}

/** Returns the key of the list that `offset` applies to: the longest one. */
function mainList(answer: JsonObject): string | undefined {
  const lists = Object.entries(answer).filter((entry): entry is [string, readonly Json[]] =>
    Array.isArray(entry[1]),
  )
  return lists.toSorted(([, a], [, b]) => b.length - a.length)[0]?.[0]
}

interface List {
  readonly key: string
  readonly items: Items
  readonly window: Window | undefined
}

/** Items of one or more lines, under lines that apply to all of them. */
interface Items {
  readonly head: readonly string[]
  readonly items: readonly string[]
}

function lengthOf({ items: { head, items } }: List): number {
  return [...head, ...items].reduce((sum, text) => sum + text.length + 1, 0)
}

function listText({ key, items: { head, items }, window }: List, budget: number): string {
  const lines = [`${key}:`, ...head]
  let length = lines.join('\n').length
  let shown = 0
  for (const item of items) {
    if (shown > 0 && length + item.length > budget) break
    const text = cutText(item, Math.max(budget - length, 200))
    lines.push(text)
    length += text.length + 1
    shown++
    if (text !== item) break
  }
  const offset = window?.offset ?? 0
  const left = (window?.total ?? offset + items.length) - offset - shown
  if (left > 0)
    lines.push(
      `… ${left} more; continue with ${window === undefined ? 'a larger maxTokens or a narrower query' : `offset=${offset + shown}`}`,
    )
  return lines.join('\n')
}

function cutText(text: string, budget: number): string {
  if (text.length <= budget) return text
  const end = text.lastIndexOf('\n', budget)
  const kept = text.slice(0, end > 0 ? end : budget)
  return `${kept}\n… truncated: ${text.length - kept.length} of ${text.length} characters omitted; retry with a larger maxTokens`
}

function itemsOf(key: string, value: Json): Items {
  if (typeof value === 'string') return { head: [], items: value.split('\n') }
  if (Array.isArray(value)) return rowsOf(value)
  const lines = Object.entries(withFlags(value as JsonObject)).flatMap(([name, each]) =>
    entryLines(name, each),
  )
  return { head: [], items: key === '' ? lines : lines.map(indented) }
}

/** Replaces boolean columns by one list of the names of the true ones. */
function withFlags(row: JsonObject): JsonObject {
  const entries = Object.entries(row)
  const flags = entries.filter(([, value]) => value === true).map(([key]) => key)
  const others = entries.filter(([, value]) => typeof value !== 'boolean')
  return { ...Object.fromEntries(others), ...(flags.length > 0 && { flags }) }
}

/**
 * Formats each row on one line, with its values in the order of the heading. A value shared by all rows
 * appears once above them.
 */
function rowsOf(values: readonly Json[]): Items {
  if (!values.every(isFlat)) {
    const items = values.map((value) => {
      const lines = isScalar(value) ? [scalarText(value)] : itemsOf('', value).items
      return lines.map((line, at) => (at === 0 ? `- ${line}` : indented(line))).join('\n')
    })
    return { head: [], items }
  }
  const rows = values.map(withFlags)
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const isShared = (column: string): boolean =>
    rows.length > 1 && rows.every((row) => cell(row, column) === cell(rows[0] ?? {}, column))
  const shared = columns.filter(isShared)
  const own = columns.filter((column) => !shared.includes(column))
  const sharedText = shared
    .map((column) => [column, cell(rows[0] ?? {}, column)])
    .filter(([, content]) => content !== '')
    .map((pair) => pair.join('='))
  return {
    head: [...(sharedText.length === 0 ? [] : [`(all: ${sharedText.join(', ')})`]), `(${own.join(' | ')})`],
    items: rows.map((row) => own.map((column) => cell(row, column)).join(' | ')),
  }
}

function cell(row: JsonObject, column: string): string {
  const content = row[column]
  return content === undefined || content === null ? '' : inlineText(content)
}

function entryLines(name: string, value: Json): readonly string[] {
  if (isEmpty(value)) return []
  if (isScalar(value)) return [`${name}: ${scalarText(value)}`]
  if (Array.isArray(value) && value.every(isScalar)) return [`${name}: ${inlineText(value)}`]
  const { head, items } = itemsOf('', value)
  return [`${name}:`, ...[...head, ...items].flatMap((item) => item.split('\n')).map(indented)]
}

/** Formats a value on one line; of an object only the values, except that nested objects get their key. */
function inlineText(value: Json): string {
  if (value === null) return ''
  if (Array.isArray(value)) return value.map(inlineText).join(', ')
  if (typeof value !== 'object') return scalarText(value)
  return Object.entries(withFlags(value as JsonObject))
    .map(([key, each]) =>
      isObject(each) && !isEmpty(each) ? `${key}=${inlineText(each)}` : inlineText(each),
    )
    .filter((part) => part !== '')
    .join(' ')
}

function scalarText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function isScalar(value: Json): boolean {
  return value === null || (typeof value === 'string' ? !value.includes('\n') : typeof value !== 'object')
}

function isEmpty(value: Json): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0)
}

function isObject(value: Json): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

const MAX_LINE_LENGTH = 2_000

/** Whether a value is an object that fits on one line. */
function isFlat(value: Json): value is JsonObject {
  if (!isObject(value)) return false
  const line = inlineText(value)
  return line.length <= MAX_LINE_LENGTH && !line.includes('\n')
}

function indented(text: string): string {
  return text.replaceAll(/^/gmu, '  ')
}
