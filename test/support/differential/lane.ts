import { type Answer, valuesOf } from './answer-reader.ts'
import { ClientConnection } from './client-connection.ts'
import { differenceOf, type Echo, seenBy } from './compare.ts'
import type { Front } from './fronts.ts'
import { type GeneratedRequest, generateRequest } from './generated-request.ts'
import { Random, randomFor } from './random.ts'
import type { Recorder } from './recorders.ts'

const PIPELINED = 4

/** Source and recipient of a lane: where its requests come from, and where its reports go. */
export interface LaneParts {
  readonly take: () => number | undefined
  readonly report: (number: number, what: string) => void
  readonly saw: (recorder: string) => void
  readonly mayLose: (recorder: string) => void
  readonly refused: () => void
  readonly done: () => void
  /** The same route to each recorder. */
  readonly elsewhere: readonly { readonly recorder: Recorder; readonly front: Front }[]
}

type Numbered = GeneratedRequest & { readonly number: number }

/** Requests to one recorder through one front: pipelined in batches on a connection until one must be the last. */
export class Lane {
  readonly #recorder: Recorder
  readonly #front: Front
  readonly #seed: number
  readonly #parts: LaneParts

  constructor(recorder: Recorder, front: Front, seed: number, parts: LaneParts) {
    this.#recorder = recorder
    this.#front = front
    this.#seed = seed
    this.#parts = parts
  }

  async run(): Promise<void> {
    let held: Numbered | undefined
    let connection: ClientConnection | undefined
    for (;;) {
      const batch: Numbered[] = []
      if (held !== undefined) batch.push(held)
      held = undefined
      while (batch.length < PIPELINED && batch.at(-1)?.isLast !== true) {
        const number = this.#parts.take()
        if (number === undefined) break
        const request = { number, ...generateRequest(randomFor(this.#seed, number), this.#front.address) }
        // A refused request closes its connection, possibly losing earlier responses.
        if (request.verdict !== 'pass' && batch.length > 0) {
          held = request
          break
        }
        batch.push(request)
      }
      const [first] = batch
      if (first === undefined) break
      if (first.verdict === 'either') await this.#compareElsewhere(first)
      else {
        connection ??= new ClientConnection(this.#front.port)
        const mayContinue = await this.#exchange(connection, batch)
        if (!mayContinue) {
          connection.end()
          connection = undefined
        }
      }
      for (const _ of batch) this.#parts.done()
    }
    connection?.end()
  }

  async #exchange(connection: ClientConnection, batch: readonly Numbered[]): Promise<boolean> {
    connection.send(
      Buffer.concat(batch.map(({ bytes }) => bytes)),
      randomFor(this.#seed, -(batch[0]?.number ?? 0)),
    )
    for (const request of batch) {
      const reading = await connection.read(request.sent.method, request.verdict !== 'pass')
      const what = this.#judge(request, reading)
      if (what !== undefined) {
        this.#parts.report(request.number, `${this.#front.name}: ${what}\n${shown(request)}`)
        return false
      }
      if (typeof reading === 'string' || !reading.isReusable) {
        const isEarly = typeof reading !== 'string' && isRefusedEarly(reading, request, this.#recorder)
        return isEarly ? this.#leaveRest(request, batch) : this.#mustBeLast(request, batch)
      }
    }
    return !connection.isDirty
  }

  #mustBeLast(request: Numbered, batch: readonly Numbered[]): false {
    if (request !== batch.at(-1))
      this.#parts.report(request.number, `${this.#front.name}: the connection ended early\n${shown(request)}`)
    return false
  }

  /** The responses to the batch's other requests are lost with the connection; the recorder may have received the requests. */
  #leaveRest(request: Numbered, batch: readonly Numbered[]): false {
    for (const _ of batch.slice(batch.indexOf(request) + 1)) this.#parts.mayLose(this.#recorder.name)
    return false
  }

  #judge(request: Numbered, reading: Answer | string): string | undefined {
    if ((reading === 'cut' || reading === 'closed') && mayBeCut(request, this.#recorder)) return undefined
    if (typeof reading === 'string') return `no answer: ${reading}`
    const { status } = reading
    const echo = echoOf(reading)
    if (echo !== undefined) this.#parts.saw(this.#recorder.name)
    if (request.verdict === 'refuse') {
      this.#parts.refused()
      if (echo !== undefined)
        return `${this.#recorder.name} saw what must be refused: ${JSON.stringify(echo)}`
      return status >= 400 && status < 500 ? undefined : `answered with ${status}`
    }
    if (echo !== undefined) return differenceOf(request, echo, this.#recorder, this.#front.changes)
    return isOwnRefusal(reading, request, this.#recorder)
      ? undefined
      : `refused with ${status}: ${reading.body.slice(0, 300)}`
  }

  /** Sends the same bytes to each recorder; those that receive a request must agree on it. */
  async #compareElsewhere(request: Numbered): Promise<void> {
    const views = await Promise.all(
      this.#parts.elsewhere.map(async ({ recorder, front }) => {
        const { bytes } = generateRequest(randomFor(this.#seed, request.number), front.address)
        const connection = new ClientConnection(front.port)
        connection.send(bytes, new Random(0))
        const reading = await connection.read(request.sent.method, true)
        connection.end()
        const echo = typeof reading === 'string' ? undefined : echoOf(reading)
        if (echo !== undefined) this.#parts.saw(recorder.name)
        this.#parts.mayLose(recorder.name)
        const isFailure = typeof reading !== 'string' && echo === undefined && reading.status >= 500
        if (isFailure && !isOwnRefusal(reading, request, recorder))
          this.#parts.report(
            request.number,
            `${front.name}: answered with ${reading.status}\n${shown(request)}`,
          )
        return echo && JSON.stringify(seenBy(echo, front.changes.withheld))
      }),
    )
    const different = new Set(views.filter((view) => view !== undefined))
    if (different.size > 1)
      this.#parts.report(
        request.number,
        `${this.#front.name}: servers saw\n${[...different].join('\n')}\n${shown(request)}`,
      )
  }
}

/** nginx refuses some methods and targets, and Go refuses some targets. */
function isOwnRefusal(answer: Answer, request: GeneratedRequest, recorder: Recorder): boolean {
  const { status, headers } = answer
  if (recorder.name === 'nginx') return status < 500 && valuesOf(headers, 'server').join().startsWith('nginx')
  return mayBeCut(request, recorder) && (status === 400 || status === 502)
}

/** A refusal may precede reading the body; then the connection cannot be reused. */
function isRefusedEarly(answer: Answer, request: GeneratedRequest, recorder: Recorder): boolean {
  return request.sent.body.length > 0 && isOwnRefusal(answer, request, recorder)
}

/**
 * Go answers such a target before it reads a body, with a response delimited by close, and resets the connection. The proxy then
 * resets its own, and the client's system drops unread data.
 */
function mayBeCut({ bytes }: GeneratedRequest, { name }: Recorder): boolean {
  return name === 'go' && /^[^\r\n]*%(?![0-9a-f]{2})/i.test(bytes.toString('latin1'))
}

function echoOf({ headers }: Answer): Echo | undefined {
  const [echo] = valuesOf(headers, 'x-echo')
  return echo === undefined ? undefined : (JSON.parse(Buffer.from(echo, 'base64').toString()) as Echo)
}

function shown({ bytes }: GeneratedRequest): string {
  return JSON.stringify(bytes.toString('latin1').slice(0, 1_500))
}
