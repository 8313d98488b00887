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
import { ignore } from '../../../src/lib/errors/ignore.ts'

const HEALTH = `${RESERVED}health`
/** Limit for a broken line; the host itself is trusted. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024
const REQUEST_TIMEOUT_MS = 30_000
const FIRST_RETRY_MS = 200
const LAST_RETRY_MS = 5_000
/** Message limit of a host that does not report one. */
const HOST_MESSAGE_BYTES = 1024 * 1024

type Payload = Envelope['payload']
/** Codes for messages that got no response from the host. */
export type PublishFailure = 'NO_CONNECTION' | 'TIMEOUT' | 'OVERLOADED' | 'REQUEST_TOO_LARGE'

interface Waiting {
  readonly onAnswer: (answer: ReceivedEnvelope) => void
  readonly fail: (why: PublishFailure) => void
}

/** The agent's connection to the host's bus, which reconnects whenever it is lost. */
export class Uplink {
  readonly #connect: () => Promise<Duplex>
  readonly #timeoutMs: number
  readonly #onWelcome: (extensions: unknown) => void
  readonly #waiting = new Map<string, Waiting>()
  #channel: EnvelopeChannel | undefined
  #token = ''
  #hostMessageBytes = HOST_MESSAGE_BYTES

  /** @param onWelcome called when the host accepts the connection, with the enabled extensions */
  constructor(
    connect: () => Promise<Duplex>,
    timeoutMs = REQUEST_TIMEOUT_MS,
    onWelcome: (extensions: unknown) => void = () => undefined,
  ) {
    this.#connect = connect
    this.#timeoutMs = timeoutMs
    this.#onWelcome = onWelcome
  }

  /** Connects with the token that identifies the agent; reconnects if the token changes. */
  begin(token: string): void {
    if (token === this.#token) return
    const isFirst = this.#token === ''
    this.#token = token
    if (isFirst) void this.#keep()
    else this.#channel?.close()
  }

  /**
   * Sends a request. `onAnswer` gets each response, the last with `isFinal`; `fail` is called if there is none
   * within 30 s, or `timeoutMs`. Returns a function that cancels the request.
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

  /** Sends an event. Returns the reason if it does not. */
  event(namespace: string, payload: Payload): PublishFailure | undefined {
    return this.#send(made(namespace, 'event', payload))
  }

  /** Refuses a message over the host's limit, because the host would close the connection with all pending requests. */
  #send(envelope: Envelope): PublishFailure | undefined {
    const frame = encodeFrame(envelopeToWire(envelope))
    if (frame.length > this.#hostMessageBytes) return 'REQUEST_TOO_LARGE'
    return this.#channel?.sendFrame(frame) === true ? undefined : 'NO_CONNECTION'
  }

  /** Reports the health of this machine's extensions to the host; does nothing while it is unreachable. */
  reportHealth(extensions: readonly ExtensionHealth[]): void {
    this.#channel?.send(made(HEALTH, 'event', { extensions }))
  }

  async #keep(): Promise<void> {
    for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)) {
      const hasBeenThere = await this.#once().catch(
        ignore('it connects again, and publishers get NO_CONNECTION until then', false),
      )
      if (hasBeenThere) retryMs = FIRST_RETRY_MS
      // Spread out, so that many machines do not reconnect to a restarted host at once.
      await delay(retryMs * (0.5 + Math.random()))
    }
  }

  /** Runs one connection until it closes. Resolves with whether the host accepted it. */
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
