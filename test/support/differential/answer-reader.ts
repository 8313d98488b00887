import type { Socket } from 'node:net'

/** A response, parsed strictly by RFC 9112. */
export interface Answer {
  readonly status: number
  /** Headers with lower-case names. */
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string
  readonly trailers: readonly (readonly [string, string])[]
  /** Interim responses before it. */
  readonly interim: readonly number[]
  /** Whether another request may be sent. */
  readonly isReusable: boolean
}

/** `closed`: the connection closed before a response began; `cut`: within one. */
export type Reading = Answer | 'closed' | 'cut'

const HEAD_END = '\r\n\r\n'
const STATUS_LINE = /^HTTP\/1\.1 ([1-9]\d\d) ([\t\x20-\x7e\x80-\xff]*)$/
const HEADER_LINE =
  /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?[ \t]*$/

/** Reads responses from a connection; throws at the first invalid byte. */
export class AnswerReader {
  #text = ''
  #isOver = false
  #wake = (): void => undefined

  constructor(socket: Socket) {
    socket.on('data', (bytes: Buffer) => {
      this.#text += bytes.toString('latin1')
      this.#wake()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.#isOver = true
      this.#wake()
    })
  }

  /** Bytes received after the last response. */
  get rest(): string {
    return this.#text
  }

  get isOver(): boolean {
    return this.#isOver
  }

  async next(method: string): Promise<Reading> {
    const interim: number[] = []
    for (;;) {
      const end = await this.#until(HEAD_END)
      if (end < 0) return this.#text === '' && interim.length === 0 ? 'closed' : 'cut'
      const head = this.#take(end + HEAD_END.length)
      const [line = '', ...lines] = head.slice(0, -HEAD_END.length).split('\r\n')
      const status = Number(STATUS_LINE.exec(line)?.[1] ?? fail(`status line ${JSON.stringify(line)}`))
      const headers = headersOf(lines)
      if (status === 101) fail('the answer switches protocols')
      if (status < 200) {
        interim.push(status)
        continue
      }
      const read = await this.#body(method, status, headers)
      if (read === 'cut') return 'cut'
      const options = valuesOf(headers, 'connection').join(',').toLowerCase()
      const isReusable = !read.isByClose && !/\bclose\b/.test(options)
      return { status, headers, ...read, interim, isReusable }
    }
  }

  async #body(method: string, status: number, headers: Answer['headers']) {
    const codings = valuesOf(headers, 'transfer-encoding')
    const lengths = valuesOf(headers, 'content-length')
    if (lengths.length > 1 || codings.length > 1 || (lengths.length > 0 && codings.length > 0))
      fail('the answer is framed twice')
    if (status === 204 && lengths.length + codings.length > 0) fail('an answer without a body is framed')
    const none = { body: '', trailers: [], isByClose: false }
    if (method === 'HEAD' || status === 204 || status === 304) return none
    if (codings.length > 0) {
      if (codings[0] !== 'chunked') fail(`coding ${codings[0]}`)
      return this.#chunked()
    }
    const [length] = lengths
    if (length === undefined) {
      await this.#until(undefined)
      return { ...none, body: this.#take(this.#text.length), isByClose: true }
    }
    if (!/^\d+$/.test(length)) fail(`length ${length}`)
    const isWhole = await this.#has(Number(length))
    return isWhole ? { ...none, body: this.#take(Number(length)) } : 'cut'
  }

  async #chunked() {
    let body = ''
    for (;;) {
      const end = await this.#until('\r\n')
      if (end < 0) return 'cut'
      const digits = this.#take(end + 2).slice(0, -2)
      if (!/^[0-9a-f]{1,8}$/i.test(digits)) fail(`chunk size ${JSON.stringify(digits)}`)
      const size = Number.parseInt(digits, 16)
      if (size === 0) break
      if (!(await this.#has(size + 2))) return 'cut'
      const chunk = this.#take(size + 2)
      if (!chunk.endsWith('\r\n')) fail('a chunk has no end')
      body += chunk.slice(0, -2)
    }
    const lines: string[] = []
    for (;;) {
      const end = await this.#until('\r\n')
      if (end < 0) return 'cut'
      const line = this.#take(end + 2).slice(0, -2)
      if (line === '') return { body, trailers: headersOf(lines), isByClose: false }
      lines.push(line)
    }
  }

  #take(length: number): string {
    const taken = this.#text.slice(0, length)
    this.#text = this.#text.slice(length)
    return taken
  }

  /** Returns the position of a marker, or -1 if the connection closed without it. An undefined marker waits for the close. */
  async #until(mark: string | undefined): Promise<number> {
    for (;;) {
      const at = mark === undefined ? -1 : this.#text.indexOf(mark)
      if (at >= 0 || this.#isOver) return at
      await this.#more()
    }
  }

  async #has(length: number): Promise<boolean> {
    while (this.#text.length < length && !this.#isOver) await this.#more()
    return this.#text.length >= length
  }

  #more(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve))
  }
}

function headersOf(lines: readonly string[]): Answer['headers'] {
  return lines.map((line) => {
    const [, name = '', value = ''] = HEADER_LINE.exec(line) ?? fail(`header line ${JSON.stringify(line)}`)
    return [name.toLowerCase(), value]
  })
}

/** Returns all values of a header of an answer. */
export function valuesOf(headers: Answer['headers'], name: string): readonly string[] {
  return headers.filter(([each]) => each === name).map(([, value]) => value)
}

function fail(what: string): never {
  throw new Error(`the answer is not valid: ${what}`)
}
