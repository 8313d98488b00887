import type { Static } from 'typebox'
import { parseJson } from '../../lib/schema/parse-json.ts'
import { Type } from '../../lib/schema/type.ts'

/** Size of a piece that a runner writes at once, with room to spare. */
const MAX_PIECE_BYTES = 8_192
/** Size of a message: a result with a few representations, each of at most 4 MiB. */
const MAX_MESSAGE_BYTES = 16 * 2 ** 20

const runSchema = Type.Integer({ minimum: 0 })
const errorSchema = Type.Object({ name: Type.String(), value: Type.String(), traceback: Type.String() })
const messageSchema = Type.Union([
  /** The interpreter has started. */
  Type.Object({ type: Type.Literal('ready'), version: Type.String({ maxLength: 40 }) }),
  /** Sent on standard error before the end is sent on standard output: all output has arrived when both have. */
  Type.Object({ type: Type.Literal('mark'), run: runSchema }),
  Type.Object({
    type: Type.Literal('result'),
    run: runSchema,
    data: Type.Unsafe<Record<string, string>>({
      type: 'object',
      additionalProperties: { type: 'string' },
      maxProperties: 32,
    }),
    isValue: Type.Boolean(),
  }),
  Type.Object({
    type: Type.Literal('end'),
    run: runSchema,
    count: Type.Integer({ minimum: 0 }),
    error: Type.Union([errorSchema, Type.Null()]),
  }),
])

/** A message of a runner. */
export type RunnerMessage = Static<typeof messageSchema>

/** Why code failed. */
export type CodeError = Static<typeof errorSchema>

/** Output of code, or a message of the runner. */
type Part =
  | { readonly is: 'output'; readonly bytes: Buffer }
  | { readonly is: 'message'; readonly message: RunnerMessage }

/**
 * Separates a runner's messages from the output of the code, which share the interpreter's streams, so that programs that the
 * code starts can print as well, and results and standard output keep their order. A message is sent in pieces `NUL mark (+ or .) bytes NUL`; the last has the period. All of
 * it is untrusted: code that imitates messages deceives only its own client.
 */
export class MessageReader {
  readonly #mark: Buffer
  #pending: Buffer = Buffer.alloc(0)
  #pieces: Buffer[] = []
  #messageBytes = 0

  /** @param mark unpredictable, so that output does not contain it by chance */
  constructor(mark: string) {
    this.#mark = Buffer.from(`\0${mark}`)
  }

  /** Yields the parts that a chunk completes. @throws Error for an invalid or too large message */
  *read(chunk: Buffer): Generator<Part, void, void> {
    let data = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    for (;;) {
      const start = this.#startOf(data)
      if (start > 0) yield { is: 'output', bytes: data.subarray(0, start) }
      data = data.subarray(start)
      const end = data.length <= this.#mark.length ? -1 : data.indexOf(0, this.#mark.length)
      if (end === -1) break
      const message = this.#add(data.subarray(this.#mark.length, end))
      data = data.subarray(end + 1)
      if (message !== undefined) yield { is: 'message', message }
    }
    if (data.length > MAX_PIECE_BYTES) throw new Error('a piece of a message is too large')
    // Copied, so that it does not keep the chunk.
    this.#pending = Buffer.from(data)
  }

  /** Returns the index of the first mark, or of the end of the data that may become one. */
  #startOf(data: Buffer): number {
    const found = data.indexOf(this.#mark)
    if (found !== -1) return found
    const last = data.indexOf(0, Math.max(0, data.length - this.#mark.length + 1))
    for (let at = last; at !== -1; at = data.indexOf(0, at + 1))
      if (this.#mark.subarray(0, data.length - at).equals(data.subarray(at))) return at
    return data.length
  }

  #add(piece: Buffer): RunnerMessage | undefined {
    this.#pieces.push(Buffer.from(piece.subarray(1)))
    this.#messageBytes += piece.length
    if (this.#messageBytes > MAX_MESSAGE_BYTES) throw new Error('a message is too large')
    if (piece.subarray(0, 1).toString() === '+') return undefined
    const message = parseJson(messageSchema, Buffer.concat(this.#pieces).toString())
    this.#pieces = []
    this.#messageBytes = 0
    if (message === undefined) throw new Error('a message is not valid')
    return message
  }
}
