import { printable } from '../../../lib/cli/table.ts'
import type { ScanProgress } from '../../scan/scan-progress.ts'

const EVERY_MS = 500
/** Pipes and logs get a few lines, and none of a start that is quick. */
const LINE_EVERY_MS = 5_000

/** Standard error of a command. */
export interface ProgressStream {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

/**
 * Shows what a starting server reads until it is stopped: on a terminal in one line that changes, elsewhere in a line
 * every 5 s.
 *
 * @param ask returns the progress of the server's scan; undefined while it has none
 * @returns stops it and removes the line
 */
export function showStartProgress(
  stream: ProgressStream,
  ask: () => Promise<ScanProgress | undefined>,
): () => void {
  const isTerminal = stream.isTTY === true
  let shown = ''
  let isStopped = false
  const show = async (): Promise<void> => {
    // A server that does not respond yet has no progress.
    const progress = await ask().catch(() => undefined)
    const text = progress === undefined ? '' : progressText(progress)
    if (isStopped || text === shown || text === '') return
    shown = text
    if (isTerminal) stream.write(`\r\u001B[K${text.slice(0, widthOf(stream) - 1)}`)
    else stream.write(`analyzer: ${text}\n`)
  }
  const timer = setInterval(() => void show(), isTerminal ? EVERY_MS : LINE_EVERY_MS)
  return () => {
    isStopped = true
    clearInterval(timer)
    if (isTerminal && shown !== '') stream.write('\r\u001B[K')
  }
}

/** Some terminals report no width. */
function widthOf({ columns = 0 }: ProgressStream): number {
  return columns > 0 ? columns : 80
}

function progressText({ step, path, readCount, classCount }: ScanProgress): string {
  if (step === 'resolving') return 'resolving the class path'
  if (step === 'listing') return 'listing classes'
  const where = path === null ? '' : ` (${printable(path)})`
  return `reading classes: ${readCount} of ${classCount}${where}`
}
