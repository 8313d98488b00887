import type { LogBlock, StreamIndex } from './log-store.ts'

/** One line, as it is told to readers. */
export interface LogLine {
  /** Counted over all processes: the order of lines, and where a reader can go on. */
  readonly sequence: number
  readonly timeMs: number
  readonly process: string
  readonly stream: 'stdout' | 'stderr'
  readonly text: string
  /** A piece of a longer line, which goes on in the next of the stream. */
  readonly isCut: boolean
}

const STREAM_NAMES: Readonly<Record<StreamIndex, LogLine['stream']>> = { 0: 'stdout', 1: 'stderr' }

/** The texts of a block's lines from an index on, decoded at once; what is no UTF-8 becomes U+FFFD. */
function textsOf(block: LogBlock, fromIndex: number): readonly string[] {
  const text = block.bytes.toString('utf8')
  if (block.isCut) return [text]
  const texts = text.split('\n')
  // Behind the last newline is nothing.
  texts.pop()
  return texts.slice(Math.max(0, fromIndex - block.index)).map(withoutReturn)
}

/** The lines of a block from an index on. */
export function linesOf(process: string, block: LogBlock, fromIndex: number): readonly LogLine[] {
  const texts = textsOf(block, fromIndex)
  const first = block.sequence + block.lines - texts.length
  return texts.map((text, at) => ({
    sequence: first + at,
    timeMs: block.timeMs,
    process,
    stream: STREAM_NAMES[block.stream],
    text,
    isCut: block.isCut,
  }))
}

function withoutReturn(text: string): string {
  return text.endsWith('\r') ? text.slice(0, -1) : text
}

// oxlint-disable-next-line no-control-regex -- escape sequences are what it looks for
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\^_])/g

/** A text without the sequences that colour it or move a terminal's cursor. Source: ECMA-48, 5.4 and 8.3. */
export function withoutEscapes(text: string): string {
  return text.includes('\u001b') ? text.replace(ESCAPES, '') : text
}
