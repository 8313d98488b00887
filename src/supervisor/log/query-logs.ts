import { setImmediate as nextTurn } from 'node:timers/promises'
import type { LineTest } from './line-filter.ts'
import { type LogLine, linesOf, withoutEscapes } from './log-line.ts'
import type { LogBlock, LogSource } from './log-store.ts'
import type { ProcessLogs } from './process-logs.ts'

/** A query for stored output. */
export interface LogQuery {
  /** Names of processes; default: all. */
  readonly processes?: readonly string[] | undefined
  readonly lines: number
  /** Maximum number of bytes of text. */
  readonly bytes?: number | undefined
  readonly test?: LineTest | undefined
  readonly isPlain?: boolean
  /** Start of the time range, inclusive; `untilMs` is its inclusive end. */
  readonly sinceMs?: number | undefined
  readonly untilMs?: number | undefined
}

/** The result of a query for stored output. */
export interface LogAnswer {
  /** The newest matching lines, oldest first. */
  readonly lines: readonly LogLine[]
  /** Number of stored lines that match the filters. */
  readonly filteredCount: number
  /** Number of stored lines of all processes. */
  readonly totalCount: number
  /** Sequence number after which a follower continues without gap or overlap; 0 before the first line. */
  readonly lastSequence: number
}

type Piece = readonly [name: string, block: LogBlock, fromIndex: number]

/** Bytes searched before yielding to other work. */
const SLICE_BYTES = 262_144

/** Searches the stored lines. */
export async function queryLogs(logs: ProcessLogs, query: LogQuery): Promise<LogAnswer> {
  const lastSequence = logs.store.nextSequence() - 1
  const selected = logs.select(query.processes)
  const totalCount = sum(logs.select(undefined))
  const isAll = query.test === undefined && query.sinceMs === undefined && query.untilMs === undefined
  if (isAll) {
    const lines = fitting(newest(selected, query), query, lastSequence)
    return { lines, filteredCount: sum(selected), totalCount, lastSequence }
  }
  const pieces = inOrder(selected.flatMap(([name, source]) => piecesOf(name, source, 0)))
  const lines: LogLine[] = []
  let filteredCount = 0
  let searched = 0
  for (const [name, block, from] of pieces) {
    if (query.sinceMs !== undefined && block.timeMs < query.sinceMs) continue
    if (query.untilMs !== undefined && block.timeMs > query.untilMs) break
    searched += block.bytes.length
    if (searched > SLICE_BYTES) {
      searched = 0
      await nextTurn()
    }
    for (const line of linesOf(name, block, from)) {
      const text = withoutEscapes(line.text)
      if (query.test?.(text) === false) continue
      filteredCount++
      lines.push(query.isPlain === true ? { ...line, text } : line)
    }
    if (lines.length > 2 * query.lines) lines.splice(0, lines.length - query.lines)
  }
  return { lines: fitting(lines, query, lastSequence), filteredCount, totalCount, lastSequence }
}

/** Without a filter, reads only the newest lines. */
function newest(selected: readonly (readonly [string, LogSource])[], query: LogQuery): readonly LogLine[] {
  const pieces = inOrder(
    selected.flatMap(([name, source]) =>
      piecesOf(name, source, Math.max(0, source.counts().end - query.lines)),
    ),
  )
  const parts: (readonly LogLine[])[] = []
  let count = 0
  for (const [name, block, from] of pieces.toReversed()) {
    if (count >= query.lines) break
    const lines = linesOf(name, block, from)
    parts.push(lines)
    count += lines.length
  }
  const lines = parts.toReversed().flat()
  return query.isPlain === true ? lines.map((line) => ({ ...line, text: withoutEscapes(line.text) })) : lines
}

function piecesOf(name: string, source: LogSource, fromIndex: number): readonly Piece[] {
  const { first } = source.counts()
  const from = Math.max(first, fromIndex)
  return source.read(from, Number.MAX_SAFE_INTEGER).map((block) => [name, block, from])
}

function inOrder(pieces: readonly Piece[]): readonly Piece[] {
  return pieces.toSorted(([, a], [, b]) => a.sequence - b.sequence)
}

/** Returns the newest lines within both limits, without lines that arrived during the search. */
function fitting(
  all: readonly LogLine[],
  { lines: maxLines, bytes: maxBytes }: LogQuery,
  lastSequence: number,
): readonly LogLine[] {
  const lines = all.slice(0, all.findLastIndex(({ sequence }) => sequence <= lastSequence) + 1)
  const last = maxLines === 0 ? [] : lines.slice(-maxLines)
  if (maxBytes === undefined) return last
  let bytes = 0
  const tooFar = last.findLastIndex((line) => (bytes += Buffer.byteLength(line.text)) > maxBytes)
  return last.slice(tooFar + 1)
}

function sum(sources: readonly (readonly [string, LogSource])[]): number {
  return sources.reduce((total, [, source]) => {
    const { first, end } = source.counts()
    return total + end - first
  }, 0)
}
