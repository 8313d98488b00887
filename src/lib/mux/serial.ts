import { randomBytes } from 'node:crypto'
import { Duplex } from 'node:stream'
import { MAX_FRAME_BYTES } from './frame.ts'

// A serial line carries only bytes: neither side notices when the other is replaced, and the data then starts anywhere. A session
// therefore starts with a mark that cannot occur in frames: more zeros than the longest frame, then a word.

const MARKS = {
  /** The first side starts a session; the session number follows. */
  begin: Buffer.from('9f1c77f0workspaceBEGIN', 'latin1'),
  /** The second side agrees; frames follow. */
  agree: Buffer.from('9f1c77f0workspaceAGREE', 'latin1'),
  /** The second side started or lost its session and requests one. */
  hello: Buffer.from('9f1c77f0workspaceHELLO', 'latin1'),
} as const
type MarkKind = keyof typeof MARKS

const WORD_BYTES = MARKS.begin.length
const NUMBER_BYTES = 16
const ZEROS = Buffer.alloc(MAX_FRAME_BYTES)
const FIRST_RETRY_MS = 1_000
/** Maximum retry delay: a slow guest takes seconds for a mark, and a session restarted before it agrees would never be agreed to. */
const LAST_RETRY_MS = 16_000
/** Pause after bytes outside a session, so that a peer that sends only those does not keep the thread busy. */
const STRAY_REST_MS = 5

interface Mark {
  readonly kind: MarkKind
  readonly number: Buffer
}

function encodeMark({ kind, number }: Mark): Buffer {
  return Buffer.concat([ZEROS, MARKS[kind], number])
}

/** Separates marks from data in arbitrary chunks. */
export class MarkScanner {
  #zeros = 0
  /** Start of a mark, from its first byte after the zeros. */
  #begun: Buffer | undefined

  /** Returns the data and marks of a chunk in order. Some of the zeros before a mark are part of the data. */
  take(chunk: Buffer): readonly (Buffer | Mark)[] {
    const found: (Buffer | Mark)[] = []
    let rest = this.#begun === undefined ? chunk : Buffer.concat([this.#begun, chunk])
    let canBegin = this.#begun !== undefined
    this.#begun = undefined
    for (;;) {
      if (canBegin) {
        const mark = parseMark(rest)
        if (mark === 'more') {
          this.#begun = rest
          return found
        }
        if (mark !== undefined) {
          found.push(mark)
          rest = rest.subarray(WORD_BYTES + NUMBER_BYTES)
          this.#zeros = 0
          // The following bytes may be the zeros of the next mark.
          canBegin = false
        }
      }
      const next = this.#findMark(rest, canBegin ? 1 : 0)
      canBegin = next < rest.length
      if (next > 0) found.push(rest.subarray(0, next))
      if (!canBegin) return found
      rest = rest.subarray(next)
    }
  }

  /** Returns the offset of a possible mark after enough zeros; the end if there is none. */
  #findMark(bytes: Buffer, from: number): number {
    const [first = 0] = MARKS.begin
    if (from > 0) this.#zeros = 0
    let position = from
    let searched = from
    for (;;) {
      const at = bytes.indexOf(first, searched)
      const end = at < 0 ? bytes.length : at
      this.#zeros = trailingZeros(bytes, position, end, this.#zeros)
      if (at < 0) return bytes.length
      if (this.#zeros >= ZEROS.length) return at
      this.#zeros = 0
      position = at + 1
      // A mark's zeros do not fit before this offset; checking every byte would be slow.
      searched = position + ZEROS.length
    }
  }
}

/** Counts the zeros before `end`, including those before `start` if only zeros are between. */
function trailingZeros(bytes: Buffer, start: number, end: number, before: number): number {
  let position = end
  while (position > start && bytes[position - 1] === 0) position--
  return position === start ? before + (end - start) : end - position
}

function parseMark(bytes: Buffer): Mark | 'more' | undefined {
  const size = Math.min(bytes.length, WORD_BYTES)
  const kinds = (Object.keys(MARKS) as MarkKind[]).filter((kind) =>
    MARKS[kind].subarray(0, size).equals(bytes.subarray(0, size)),
  )
  const [kind] = kinds
  if (kind === undefined) return undefined
  if (bytes.length < WORD_BYTES + NUMBER_BYTES) return 'more'
  return { kind, number: bytes.subarray(WORD_BYTES, WORD_BYTES + NUMBER_BYTES) }
}

/** One session on a serial line, used as the stream of a `Mux`. */
class SerialSession extends Duplex {
  readonly #line: Duplex

  constructor(line: Duplex) {
    super()
    this.#line = line
  }

  override _read(): void {
    this.#line.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (this.#line.write(chunk)) done()
    else this.#line.once('drain', done)
  }

  arrive(bytes: Buffer): void {
    if (!this.destroyed && !this.push(bytes)) this.#line.pause()
  }
}

/**
 * Runs sessions on a serial line, one at a time. Either side may be replaced at any moment, which starts a new session.
 * `first` is the side that starts them. Returns a function that stops.
 */
export function serveSerial(
  line: Duplex,
  side: 'first' | 'second',
  onSession: (session: Duplex) => void,
): () => void {
  const scanner = new MarkScanner()
  let session: SerialSession | undefined
  let number = Buffer.alloc(NUMBER_BYTES)
  let retry: NodeJS.Timeout | undefined
  let retryMs = FIRST_RETRY_MS
  const end = (): void => {
    const ended = session
    session = undefined
    ended?.destroy()
    line.resume()
  }
  const start = (): void => {
    end()
    clearTimeout(retry)
    retryMs = FIRST_RETRY_MS
    const started = new SerialSession(line)
    session = started
    // Starts a new session after a delay, because a mark of the next session may have broken this one.
    started.once('close', () => {
      if (session !== started) return
      end()
      askLater()
    })
    onSession(started)
  }
  const begin = (): void => {
    number = randomBytes(NUMBER_BYTES)
    line.write(encodeMark({ kind: 'begin', number }))
    // The other side may not be listening yet.
    askLater()
  }
  const sayHello = (): void => void line.write(encodeMark({ kind: 'hello', number }))
  const askLater = (): void => {
    clearTimeout(retry)
    retry = setTimeout(() => {
      if (side === 'second') sayHello()
      else if (line.writableNeedDrain) askLater()
      else begin()
    }, retryMs)
    retryMs = Math.min(2 * retryMs, LAST_RETRY_MS)
  }
  const handle = ({ kind, number: said }: Mark): void => {
    if (side === 'second') {
      if (kind !== 'begin') return
      line.write(encodeMark({ kind: 'agree', number: said }))
      start()
    } else if (kind === 'agree') {
      if (said.equals(number)) start()
    } else if (kind === 'hello') {
      end()
      // A mark is longer than the request for it: a peer that requests without reading must not get a response each time.
      if (line.writableNeedDrain) askLater()
      else begin()
    }
  }
  line.on('data', (chunk: Buffer) => {
    for (const part of scanner.take(chunk)) {
      if (Buffer.isBuffer(part)) session?.arrive(part)
      else handle(part)
    }
    if (session !== undefined) return
    line.pause()
    setTimeout(() => line.resume(), STRAY_REST_MS)
  })
  line.on('error', () => undefined)
  const stop = (): void => {
    end()
    clearTimeout(retry)
  }
  line.once('close', stop)
  if (side === 'second') sayHello()
  else begin()
  return () => {
    stop()
    line.destroy()
  }
}
