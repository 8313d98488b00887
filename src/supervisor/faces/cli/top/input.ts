import { StringDecoder } from 'node:string_decoder'

/** Input of a terminal. */
export type Input =
  /** A key by its name, or the character that it types. */
  | { readonly is: 'key'; readonly key: string }
  | { readonly is: 'paste'; readonly text: string }
  /** A place on the screen, counted from 0. */
  | { readonly is: 'click'; readonly column: number; readonly row: number }
  | { readonly is: 'wheel'; readonly up: boolean; readonly column: number; readonly row: number }

/** Names of control characters. */
const CONTROLS: Readonly<Record<string, string>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  '\u0003': 'ctrl-c',
  '\u0015': 'ctrl-u',
  '\u0008': 'backspace',
  '\u007f': 'backspace',
}

/** Names of keys that send a control sequence. Source: xterm's control sequences, PC-style function keys. */
const SEQUENCES: Readonly<Record<string, string>> = {
  A: 'up',
  B: 'down',
  C: 'right',
  D: 'left',
  H: 'home',
  F: 'end',
  Z: 'shift-tab',
  '1~': 'home',
  '4~': 'end',
  '5~': 'pageup',
  '6~': 'pagedown',
  '7~': 'home',
  '8~': 'end',
}

const PASTE = '200~'
const PASTE_END = '\u001b[201~'
/** Longest text that is accepted from the clipboard. */
const MAX_PASTE = 4_096

// oxlint-disable-next-line no-control-regex -- it matches control sequences
const SEQUENCE = /^\u001b(?:\[([0-?]*[ -/]*[@-~])|O([A-Z]))/
// oxlint-disable-next-line no-control-regex -- it matches the start of a control sequence
const UNFINISHED = /^\u001b(?:\[[0-?]*[ -/]*|O)?$/
// oxlint-disable-next-line no-control-regex -- it matches a key that is pressed together with Alt
const ALT = /^\u001b[^\u001b]/u
const MOUSE = /^<(\d+);(\d+);(\d+)([Mm])$/
/** Bits of a mouse report. Source: xterm's control sequences, SGR (1006). */
const WHEEL = 64
const MOTION = 32

const segmenter = new Intl.Segmenter()

/** Splits the bytes of a terminal into keys, pasted text and mouse reports, which may arrive in pieces. */
export class InputReader {
  readonly #decoder = new StringDecoder('utf8')
  #rest = ''

  /** Whether the last bytes may be the start of a sequence, or the Escape key. */
  get isUnfinished(): boolean {
    return UNFINISHED.test(this.#rest)
  }

  read(bytes: Buffer): readonly Input[] {
    this.#rest += this.#decoder.write(bytes)
    const inputs: Input[] = []
    while (this.#rest !== '' && !this.isUnfinished) {
      const input = this.#next()
      if (input === 'incomplete') break
      if (input !== undefined) inputs.push(input)
    }
    return inputs
  }

  /** Takes an unfinished sequence as the Escape key, as nothing followed it. */
  finish(): readonly Input[] {
    if (!this.isUnfinished) return []
    this.#rest = ''
    return [{ is: 'key', key: 'escape' }]
  }

  #next(): Input | 'incomplete' | undefined {
    const [found, sequence, short] = SEQUENCE.exec(this.#rest) ?? []
    if (found === undefined) return this.#character()
    if (sequence === PASTE) return this.#paste(found.length)
    this.#rest = this.#rest.slice(found.length)
    const mouse = MOUSE.exec(sequence ?? '')
    if (mouse !== null) return mouseInput(mouse)
    const key = SEQUENCES[sequence ?? short ?? '']
    return key === undefined ? undefined : { is: 'key', key }
  }

  #paste(start: number): Input | 'incomplete' {
    const end = this.#rest.indexOf(PASTE_END, start)
    if (end < 0) {
      // A long paste is cut; what remains of it may be the start of its end.
      const limit = start + MAX_PASTE
      this.#rest = this.#rest.slice(0, limit) + this.#rest.slice(limit).slice(1 - PASTE_END.length)
      return 'incomplete'
    }
    const text = this.#rest.slice(start, end).slice(0, MAX_PASTE)
    this.#rest = this.#rest.slice(end + PASTE_END.length)
    return { is: 'paste', text }
  }

  #character(): Input | undefined {
    const alt = ALT.exec(this.#rest)
    if (alt !== null) {
      this.#rest = this.#rest.slice(alt[0].length)
      return undefined
    }
    const [first] = segmenter.segment(this.#rest)
    const text = first?.segment ?? this.#rest.charAt(0)
    this.#rest = this.#rest.slice(text.length)
    if (text === '\r\n') return { is: 'key', key: 'enter' }
    if (text === '\u001b') return { is: 'key', key: 'escape' }
    const control = CONTROLS[text]
    if (control !== undefined) return { is: 'key', key: control }
    return text < ' ' ? undefined : { is: 'key', key: text }
  }
}

function mouseInput([, button, column, row, end]: RegExpExecArray): Input | undefined {
  const bits = Number(button)
  const place = { column: Number(column) - 1, row: Number(row) - 1 }
  if ((bits & WHEEL) !== 0) return { is: 'wheel', up: (bits & 1) === 0, ...place }
  return (bits & MOTION) === 0 && (bits & 3) === 0 && end === 'M' ? { is: 'click', ...place } : undefined
}
