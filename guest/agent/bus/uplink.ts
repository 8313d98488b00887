import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { EnvelopeChannel } from '../../../src/lib/envelope/envelope-channel.ts'
import {
  type Envelope,
  envelopeToWire,
  payloadOf,
  type ReceivedEnvelope,
  RESERVED,
} from '../../../src/lib/envelope/envelope.ts'
import { encodeFrame } from '../../../src/lib/envelope/frames.ts'
import type { ExtensionHealth } from '../../../src/lib/guest/extension.ts'
import { uuidV7 } from '../../../src/lib/envelope/uuid-v7.ts'

const HEALTH = `${RESERVED}health`
/** The host is trusted; the bound is there for a line that went wrong. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024
const REQUEST_TIMEOUT_MS = 30_000
const FIRST_RETRY_MS = 200
const LAST_RETRY_MS = 5_000
/** What a host takes that does not say it: its default. */
const HOST_MESSAGE_BYTES = 1024 * 1024
/** Events that wait for the host to come back. */
const MAX_EVENTS = 1_000
const MAX_EVENT_BYTES = 4 * 1024 * 1024

type Payload = Envelope['payload']
export type PublishFailure = 'NO_CONNECTION' | 'TIMEOUT' | 'OVERLOADED' | 'REQUEST_TOO_LARGE'

interface Waiting {
  readonly onAnswer: (answer: ReceivedEnvelope) => void
  readonly fail: (why: PublishFailure) => void
}

/** The agent's connection to the host's bus, made anew whenever it is lost. */
export class Uplink {
  readonly #connect: () => Promise<Duplex>
  readonly #timeoutMs: number
  readonly #onWelcome: (extensions: unknown) => void
  readonly #waiting = new Map<string, Waiting>()
  readonly #events: Envelope[] = []
  #eventBytes = 0
  #channel: EnvelopeChannel | undefined
  #token = ''
  #hostMessageBytes = HOST_MESSAGE_BYTES

  /** @param onWelcome the host has taken the connection, and told which extensions are enabled */
  constructor(
    connect: () => Promise<Duplex>,
    timeoutMs = REQUEST_TIMEOUT_MS,
    onWelcome: (extensions: unknown) => void = () => undefined,
  ) {
    this.#connect = connect
    this.#timeoutMs = timeoutMs
    this.#onWelcome = onWelcome
  }

  /** Begins, once the host has said by what it knows its agent; with another token it begins anew. */
  begin(token: string): void {
    if (token === this.#token) return
    const isFirst = this.#token === ''
    this.#token = token
    if (isFirst) void this.#keep()
    else this.#channel?.close()
  }

  /**
   * Sends a request; `onAnswer` gets each answer, the last of them with `isFinal`, and `fail` is called instead when there is none
   * within 30 s, or `timeoutMs`. Returns how to give up.
   */
  request(
    namespace: string,
    payload: Payload,
    waiting: Waiting,
    timeoutMs: number = this.#timeoutMs,
  ): () => void {
    const envelope = made(namespace, 'request', payload)
    const failure = this.#send(envelope)
    if (failure !== undefined) {
      waiting.fail(failure)
      return () => undefined
    }
    const settle = (): void => {
      clearTimeout(late)
      this.#waiting.delete(envelope.id)
    }
    const late = setTimeout(() => {
      settle()
      waiting.fail('TIMEOUT')
    }, timeoutMs)
    this.#waiting.set(envelope.id, {
      onAnswer(answer) {
        if (answer.isFinal === true) settle()
        waiting.onAnswer(answer)
      },
      fail(why) {
        settle()
        waiting.fail(why)
      },
    })
    return settle
  }

  /** Sends an event, or keeps it until the host is back; says why when it does neither: `NO_CONNECTION` when too many wait already. */
  event(namespace: string, payload: Payload, bytes: number): PublishFailure | undefined {
    const envelope = made(namespace, 'event', payload)
    const failure = this.#send(envelope)
    if (failure !== 'NO_CONNECTION') return failure
    if (this.#events.length >= MAX_EVENTS || this.#eventBytes + bytes > MAX_EVENT_BYTES) return failure
    this.#events.push(envelope)
    this.#eventBytes += bytes
    return undefined
  }

  /** One that is longer than the host takes is not sent: the host would end the connection, and with it what others wait for. */
  #send(envelope: Envelope): PublishFailure | undefined {
    const frame = encodeFrame(envelopeToWire(envelope))
    if (frame.length > this.#hostMessageBytes) return 'REQUEST_TOO_LARGE'
    return this.#channel?.sendFrame(frame) === true ? undefined : 'NO_CONNECTION'
  }

  /** Tells the host how this machine's extensions fare; while it is away, nothing. */
  tellHealth(extensions: readonly ExtensionHealth[]): void {
    this.#channel?.send(made(HEALTH, 'event', { extensions }))
  }

  async #keep(): Promise<void> {
    for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)) {
      const hasBeenThere = await this.#once().catch(() => false)
      if (hasBeenThere) retryMs = FIRST_RETRY_MS
      // Not all at once, when a host with many machines comes back.
      await delay(retryMs * (0.5 + Math.random()))
    }
  }

  /** One connection, to its end; whether the host took it. */
  async #once(): Promise<boolean> {
    let isWelcome = false
    const channel: EnvelopeChannel = new EnvelopeChannel(
      await this.#connect(),
      MAX_MESSAGE_BYTES,
      (envelope) => {
        if (envelope.namespace === HEALTH) {
          const { extensions, max_message_bytes: maxBytes } = payloadOf(envelope)
          isWelcome = true
          this.#channel = channel
          this.#hostMessageBytes = typeof maxBytes === 'number' ? maxBytes : HOST_MESSAGE_BYTES
          for (const event of this.#events.splice(0)) this.#send(event)
          this.#eventBytes = 0
          this.#onWelcome(extensions)
        } else this.#heed(envelope)
      },
    )
    channel.send(made(HEALTH, 'request', { token: this.#token }))
    await channel.closed
    if (this.#channel === channel) this.#channel = undefined
    for (const waiting of this.#waiting.values()) waiting.fail('NO_CONNECTION')
    return isWelcome
  }

  #heed(envelope: ReceivedEnvelope): void {
    const waiting = this.#waiting.get(envelope.inReplyTo ?? '')
    if (envelope.type !== 'response' || waiting === undefined) return
    if (envelope.namespace.startsWith(RESERVED)) waiting.fail('OVERLOADED')
    else waiting.onAnswer(envelope)
  }
}

function made(namespace: string, type: 'request' | 'event', payload: Payload): Envelope {
  const nowMs = Date.now()
  return { id: uuidV7(nowMs), namespace, type, timestamp: new Date(nowMs).toISOString(), payload }
}
