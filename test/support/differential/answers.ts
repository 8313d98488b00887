import { type Answer, valuesOf } from './answer-reader.ts'
import { ClientConnection } from './client-connection.ts'
import { type Front, startFronts } from './fronts.ts'
import { hostileAnswer, startHostileUpstream } from './hostile-answers.ts'
import type { Outcome } from './requests.ts'

/** Size and seed of a run with generated answers. */
export interface AnswerRun {
  readonly requests: number
  readonly seed: number
}

const LANES = 4
const KEPT = 20

/**
 * Sends requests to a hostile upstream through every route of both proxies. Each client must get its own well-formed response,
 * 502, or a connection closed within a response; later requests on the same and on pooled connections must get their own responses.
 */
export async function compareAnswers({
  requests,
  seed,
}: AnswerRun): Promise<Omit<Outcome, 'seen' | 'refused'>> {
  const upstream = await startHostileUpstream(seed)
  const differences: string[] = []
  let differenceCount = 0
  let next = 0
  const report = (number: number, front: Front, what: string): void => {
    differenceCount++
    const shown = JSON.stringify(hostileAnswer(seed, number)).slice(0, 600)
    if (differences.length < KEPT)
      differences.push(`seed ${seed}, answer ${number}: ${front.name}: ${what}\n${shown}`)
  }
  const lane = async (front: Front): Promise<void> => {
    let client: Client | undefined
    while (next < requests) {
      const number = next++
      client ??= new Client(front)
      const bad = await client.ask(`/bad/${number}`)
      const what = judge(number, seed, bad)
      if (what !== undefined) report(number, front, what)
      if (typeof bad === 'string' || !bad.isReusable || client.isDirty) {
        client.end()
        client = new Client(front)
      }
      const good = await client.ask(`/good/${number}`)
      if (typeof good === 'string' || good.status !== 200 || good.body !== String(number))
        report(number, front, `the next request was answered with ${JSON.stringify(good).slice(0, 500)}`)
      if (typeof good === 'string' || client.isDirty) {
        client.end()
        client = undefined
      }
    }
    client?.end()
  }
  try {
    const fronts = await startFronts([{ name: 'hostile', port: upstream.port }])
    try {
      const ways = fronts.to.get('hostile') ?? []
      await Promise.all(ways.flatMap((front) => Array.from({ length: LANES }, () => lane(front))))
    } finally {
      await fronts.stop()
    }
  } finally {
    upstream.stop()
  }
  return { requests: next, differences, differenceCount }
}

function judge(number: number, seed: number, reading: Answer | string): string | undefined {
  const { allows } = hostileAnswer(seed, number)
  if (reading === 'cut') return allows === 'cut' ? undefined : 'the answer was cut'
  if (typeof reading === 'string') return reading
  if (valuesOf(reading.headers, 'x-evil').length > 0) return 'the answer is of no request'
  if (typeof allows === 'string')
    return reading.status === 502 ? undefined : `answered with ${reading.status}: ${shownAnswer(reading)}`
  const isAsSent = reading.status === allows.status && reading.body === allows.body
  const trailers = reading.trailers.map(([name]) => name)
  if (trailers.includes('set-cookie') || trailers.includes('content-length'))
    return `trailers ${trailers.join()}`
  return isAsSent ? undefined : `answered with ${reading.status}: ${shownAnswer(reading)}`
}

function shownAnswer({ body }: Answer): string {
  return JSON.stringify(body.slice(0, 300))
}

class Client {
  readonly #front: Front
  readonly #connection: ClientConnection

  constructor(front: Front) {
    this.#front = front
    this.#connection = new ClientConnection(front.port)
  }

  get isDirty(): boolean {
    return this.#connection.isDirty
  }

  async ask(target: string): Promise<Answer | string> {
    const { host, prefix } = this.#front.address
    this.#connection.send(Buffer.from(`GET ${prefix}${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`))
    const reading = await this.#connection.read('GET')
    return reading === 'closed' ? 'no answer: the connection ended' : reading
  }

  end(): void {
    this.#connection.end()
  }
}
