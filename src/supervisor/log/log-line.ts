import type { LogBlock, StreamIndex } from './log-store.ts'

/** A line as delivered to readers. */
export interface LogLine {
  /** Number across all processes: the order of lines, and the position for resuming. */
  readonly sequence: number
  readonly timeMs: number
  readonly process: string
  readonly stream: 'stdout' | 'stderr'
  readonly text: string
  /** Whether it is part of a longer line, continued in the stream's next line. */
  readonly isCut: boolean
}

const STREAM_NAMES: Readonly<Record<StreamIndex, LogLine['stream']>> = { 0: 'stdout', 1: 'stderr' }

/** Decodes a block's lines from an index on; invalid UTF-8 becomes U+FFFD. */
function textsOf(block: LogBlock, fromIndex: number): readonly string[] {
  const text = block.bytes.toString('utf8')
  if (block.isCut) return [text]
  const texts = text.split('\n')
  // Nothing follows the last newline.
  texts.pop()
  return texts.slice(Math.max(0, fromIndex - block.index))
}

/** Returns the lines of a block from an index on. */
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

const ESCAPES =
  // oxlint-disable-next-line no-control-regex -- it matches escape sequences
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[PX^_][^\u001b]*\u001b\\|[ -/]+[0-~]|[0-Z\\^-~])/g

/** Removes terminal control sequences from text. Source: ECMA-48, 5.4 and 8.3, and ECMA-35, 13.2. */
export function withoutEscapes(text: string): string {
  return text.includes('\u001b') ? text.replace(ESCAPES, '') : text
}
