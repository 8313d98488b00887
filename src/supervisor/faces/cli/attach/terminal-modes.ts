// oxlint-disable-next-line no-control-regex -- it matches control sequences
const MODE = /\u001b\[\?([\d;]{1,40})([hl])/g
/** Longest sequence that may be divided between two pieces of output. */
const KEPT_LENGTH = 48
/** Modes that are on in a new terminal: line wrap and the cursor. */
const ON_AT_FIRST: ReadonlySet<string> = new Set(['7', '25'])
const MOST_MODES = 100
const PLAIN_TEXT = '\u001b[0m'

/** Remembers which modes of a terminal a program has changed, such as the alternate screen. Source: ECMA-48, DECSET in xterm's control sequences. */
export class TerminalModes {
  readonly #changed = new Set<string>()
  #tail = ''

  read(bytes: Buffer): void {
    const text = this.#tail + bytes.toString('latin1')
    for (const [, modes = '', set] of text.matchAll(MODE))
      for (const mode of modes.split(';')) {
        if ((set === 'h') === ON_AT_FIRST.has(mode)) this.#changed.delete(mode)
        else if (this.#changed.size < MOST_MODES) this.#changed.add(mode)
      }
    // A complete sequence in it is read again, with the same result.
    this.#tail = text.slice(-KEPT_LENGTH)
  }

  /** Returns the sequences that undo the changes. */
  reset(): string {
    const modes = [...this.#changed].map((mode) => `\u001b[?${mode}${ON_AT_FIRST.has(mode) ? 'h' : 'l'}`)
    return PLAIN_TEXT + modes.join('')
  }
}
