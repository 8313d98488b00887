import { printable } from '../../../lib/cli/table.ts'
import type { ScanProgress } from '../../scan/scan-progress.ts'

/** Pipes and logs get a few lines, and none of a start that is quick. */
const LINE_EVERY_MS = 5_000

/** Standard error of a command. */
export interface ProgressStream {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

/** Shows what a starting server reads: on a terminal in one line that changes, elsewhere in a line every 5 s. */
export class StartProgress {
  readonly #stream: ProgressStream
  readonly #isTerminal: boolean
  #shown = ''
  #lastLineMs = performance.now()

  constructor(stream: ProgressStream) {
    this.#stream = stream
    this.#isTerminal = stream.isTTY === true
  }

  /** Shows the progress of the server's scan; nothing new while it has none. */
  show(progress: ScanProgress | undefined): void {
    const text = progress === undefined ? '' : progressText(progress)
    if (text === this.#shown || text === '') return
    const now = performance.now()
    if (!this.#isTerminal && now - this.#lastLineMs < LINE_EVERY_MS) return
    this.#shown = text
    this.#lastLineMs = now
    if (this.#isTerminal) this.#stream.write(`\r\u001B[K${text.slice(0, widthOf(this.#stream) - 1)}`)
    else this.#stream.write(`analyzer: ${text}\n`)
  }

  /** Removes the line from a terminal. */
  hide(): void {
    if (this.#isTerminal && this.#shown !== '') this.#stream.write('\r\u001B[K')
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
