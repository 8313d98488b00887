import { fault } from '../errors.ts'
import type { TerminalRequest } from '../terminal/open-terminal.ts'

const MAX_SIZE = 4096

/** A control message from a terminal's client. */
export type TerminalMessage =
  | { readonly type: 'resize'; readonly columns: number; readonly rows: number }
  | { readonly type: 'taken'; readonly bytes: number }

/** Parses a control message; returns undefined if it is invalid. */
export function parseTerminalMessage(text: string): TerminalMessage | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  const { type, columns, rows, bytes } = (value ?? {}) as Readonly<Record<string, unknown>>
  if (type === 'resize' && isSize(columns) && isSize(rows)) return { type, columns, rows }
  if (type === 'taken' && Number.isSafeInteger(bytes) && Number(bytes) >= 0)
    return { type, bytes: Number(bytes) }
  return undefined
}

/** Decodes a terminal's query. @throws INVALID_REQUEST when a size is invalid */
export function terminalFromQuery(query: URLSearchParams): TerminalRequest {
  const size = (name: string, otherwise: number): number => {
    const text = query.get(name)
    if (text === null) return otherwise
    if (/^\d{1,4}$/.test(text) && isSize(Number(text))) return Number(text)
    throw fault('INVALID_REQUEST', `${name} must be a number from 1 to ${MAX_SIZE}`)
  }
  return { session: query.get('session') ?? undefined, columns: size('columns', 80), rows: size('rows', 24) }
}

function isSize(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= MAX_SIZE
}
