import { StringDecoder } from 'node:string_decoder'

/** Input of a terminal. */
export type Input =
  /** A key by its name, or the character that it types. Modifiers other than those in names do not count. */
  | { readonly is: 'key'; readonly key: string }
  | { readonly is: 'paste'; readonly text: string }
  /** A place on the screen, counted from 0. */
  | { readonly is: 'click'; readonly column: number; readonly row: number }
  | { readonly is: 'wheel'; readonly up: boolean; readonly column: number; readonly row: number }

const RETURN = '\r'
const NEWLINE = '\n'
const ESCAPE = '\u001b'
/** Names of control characters. */
const CONTROLS: Readonly<Record<string, string>> = {
  [RETURN]: 'enter',
  [NEWLINE]: 'enter',
  '\t': 'tab',
  '\u0003': 'ctrl-c',
  '\u0015': 'ctrl-u',
  '\u001a': 'ctrl-z',
  '\u0008': 'backspace',
  '\u007f': 'backspace',
}

/** Names of keys by the end of their sequence. Sources: xterm's control sequences, PC-style function keys; rxvt. */
const SEQUENCES: Readonly<Record<string, string>> = {
  A: 'up',
  B: 'down',
  C: 'right',
  D: 'left',
  a: 'up',
  b: 'down',
  c: 'right',
  d: 'left',
  H: 'home',
  F: 'end',
  Z: 'shift-tab',
  '1': 'home',
  '4': 'end',
  '5': 'pageup',
  '6': 'pagedown',
  '7': 'home',
  '8': 'end',
}
/** Parameters with the modifiers of a key, and its letter or number. */
const KEY = /^(?:1?(?:;[\d:]+)?([A-Za-d])|(\d+)(?:;[\d:]+)?[~$^@])$/
/** Keys of the keypad in application mode send a character 64 places higher. Source: VT100 user guide, table 3-7. */
const KEYPAD = /^[MIj-y]$/
const KEYPAD_SHIFT = 64

const PASTE = '200~'
const PASTE_END = '\u001b[201~'
/** Longest text that is accepted from the clipboard. */
const MAX_PASTE = 4_096

/* oxlint-disable no-control-regex -- they match control sequences */
/**
 * A complete sequence: of a function key of the Linux console, of a key of rxvt with Shift, a mouse report of terminals
 * without SGR reports, a control sequence (1), or a key in application mode (2).
 */
const SEQUENCE =
  /^\u001b(?:\[\[[ -~]|\[([2-8]\$)|\[M[^]{3}|\[(?![M[])([0-?]{0,64}[ -/]{0,8}[@-~])|O[0-9;]{0,8}([ -/:<-~]))/
const UNFINISHED = /^\u001b(?:\[(?:\[|M[^]{0,2}|[0-?]{0,64}[ -/]{0,8})?|O[0-9;]{0,8}|\]|P|_)?$/
/** Start of a reply of the terminal, which a program before this one may have asked for: OSC, DCS or APC. */
const REPLY = /^\u001b(?:\]\d|P[\d>!]|_G)/
/** A complete reply. Any other control character ends it, too. */
const WHOLE_REPLY =
  /^\u001b[^\u0000-\u001f]*(?:\u0007|\u001b\\|(?=\u001b[^\\]|[\u0000-\u0006\u0008-\u001a\u001c-\u001f]))/
/* oxlint-enable no-control-regex */
const MOUSE = /^<(\d+);(\d+);(\d+)([Mm])$/
/** Bits of a mouse report. Source: xterm's control sequences, SGR (1006). */
const WHEEL = 64
const MOTION = 32

/**
 * Splits the bytes of a terminal into keys, pasted text and mouse reports. The input does not depend on the pieces in
 * which they arrive: no key is lost, and no part of a sequence becomes a key.
 */
export class InputReader {
  readonly #decoder = new StringDecoder('utf8')
  #rest = ''
  /** Whether the Escape that begins the rest was reported as a key, because nothing followed it in time. */
  #isReported = false
  #isAfterReturn = false

  /** Whether the last bytes may be the start of a sequence, or the Escape key. */
  get isUnfinished(): boolean {
    return !this.#isReported && UNFINISHED.test(this.#rest)
  }

  read(bytes: Buffer): readonly Input[] {
    this.#rest += this.#decoder.write(bytes)
    const inputs: Input[] = []
    for (;;) {
      const input = this.#next()
      if (input === 'incomplete') return inputs
      if (input !== undefined) inputs.push(input)
    }
  }

  /** Takes the start of a sequence as the Escape key, as nothing followed it. A late rest still completes it. */
  finish(): readonly Input[] {
    if (!this.isUnfinished) return []
    this.#isReported = true
    return [{ is: 'key', key: 'escape' }]
  }

  #next(): Input | 'incomplete' | undefined {
    if (this.#rest === '') return 'incomplete'
    if (REPLY.test(this.#rest)) return this.#reply()
    const [found, rxvt, control = rxvt, application] = SEQUENCE.exec(this.#rest) ?? []
    if (found === undefined) return UNFINISHED.test(this.#rest) ? 'incomplete' : this.#character()
    if (control === PASTE) return this.#paste(found.length)
    this.#take(found.length)
    const mouse = MOUSE.exec(control ?? '')
    if (mouse !== null) return mouseInput(mouse)
    if (application !== undefined && KEYPAD.test(application))
      return characterInput(String.fromCharCode(application.charCodeAt(0) - KEYPAD_SHIFT))
    const [, letter, number = letter] = KEY.exec(control ?? application ?? '') ?? []
    const key = SEQUENCES[number ?? '']
    return key === undefined ? undefined : { is: 'key', key }
  }

  #take(length: number): string {
    const taken = this.#rest.slice(0, length)
    this.#rest = this.#rest.slice(length)
    this.#isReported = false
    this.#isAfterReturn = taken === RETURN
    return taken
  }

  #paste(start: number): Input | 'incomplete' {
    const end = this.#rest.indexOf(PASTE_END, start)
    if (end < 0) return this.#shorten(start + MAX_PASTE, PASTE_END.length - 1)
    const text = this.#rest.slice(start, end).slice(0, MAX_PASTE)
    this.#take(end + PASTE_END.length)
    return { is: 'paste', text }
  }

  #reply(): 'incomplete' | undefined {
    // The first Escape is not the one that ends it.
    const [found] = WHOLE_REPLY.exec(this.#rest) ?? []
    if (found === undefined) return this.#shorten(MAX_PASTE, 1)
    this.#take(found.length)
    return undefined
  }

  /** Cuts what is too long; what remains of it may be the start of its end. */
  #shorten(limit: number, endLength: number): 'incomplete' {
    this.#rest = this.#rest.slice(0, limit) + this.#rest.slice(limit).slice(-endLength)
    return 'incomplete'
  }

  #character(): Input | undefined {
    const isAfterReturn = this.#isAfterReturn
    const isReported = this.#isReported
    const text = this.#take(String.fromCodePoint(this.#rest.codePointAt(0) ?? 0).length)
    // Some terminals send both for one key.
    if (text === NEWLINE && isAfterReturn) return undefined
    // A key with Alt sends Escape before it: two keys, as in ncurses, because the bytes are the same.
    if (text === ESCAPE) return isReported ? undefined : { is: 'key', key: 'escape' }
    return characterInput(text)
  }
}

function characterInput(text: string): Input | undefined {
  const key = CONTROLS[text] ?? text
  return key < ' ' ? undefined : { is: 'key', key }
}

function mouseInput([, button, column, row, end]: RegExpExecArray): Input | undefined {
  const bits = Number(button)
  const place = { column: Number(column) - 1, row: Number(row) - 1 }
  if ((bits & WHEEL) !== 0) return { is: 'wheel', up: (bits & 1) === 0, ...place }
  return (bits & MOTION) === 0 && (bits & 3) === 0 && end === 'M' ? { is: 'click', ...place } : undefined
}
