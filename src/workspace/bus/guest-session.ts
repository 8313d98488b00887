import { createHash, timingSafeEqual } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { EnvelopeChannel } from '../../lib/envelope/envelope-channel.ts'
import { type Envelope, payloadOf, RESERVED } from '../../lib/envelope/envelope.ts'
import { uuidV7 } from '../../lib/envelope/uuid-v7.ts'
import type { BackendName } from '../backend-name.ts'
import type { Bus, GuestConnection } from './bus.ts'
import { readHealth } from './extensions.ts'
import type { Clock } from '../../lib/clock/clock.ts'

/** Namespace in which agents identify themselves. */
const HEALTH = `${RESERVED}health`
const HELLO_TIMEOUT_MS = 10_000

/** The expected identity of a guest. */
export interface GuestIdentity {
  readonly name: string
  readonly backend: BackendName
  /** Known only to the guest's agent: other programs inside can connect as well (threat B3). */
  readonly token: string
}

/**
 * Serves one connection from a guest to the bus. The guest is identified by the socket on which the
 * connection arrived. The first message must come from its agent and contain the token; otherwise the
 * connection is closed.
 */
export function serveGuest(
  connection: Duplex,
  { name, backend, token }: GuestIdentity,
  bus: Bus,
  options: {
    readonly maxMessageBytes: number
    /** Namespaces of the extensions that guests start. */
    readonly extensions: readonly string[]
    readonly clock: Clock
  },
): void {
  let guest: GuestConnection | undefined
  const late = setTimeout(() => connection.destroy(), HELLO_TIMEOUT_MS).unref()
  const channel = new EnvelopeChannel(connection, options.maxMessageBytes, (envelope, bytes) => {
    if (envelope.namespace.startsWith(RESERVED)) {
      if (envelope.namespace !== HEALTH) return
      if (guest !== undefined)
        return guest.updateHealth(readHealth(payloadOf(envelope)['extensions'], options.extensions))
      if (!isSame(payloadOf(envelope)['token'], token)) return channel.close()
      clearTimeout(late)
      guest = bus.connect(name, backend, channel)
      void channel.closed.then(guest.disconnect)
      channel.send(welcome(envelope, options))
    } else if (guest === undefined) channel.close()
    else guest.receive(envelope, bytes)
  })
  void channel.closed.then(() => clearTimeout(late))
}

function welcome(
  { id }: Pick<Envelope, 'id'>,
  {
    extensions,
    maxMessageBytes,
    clock,
  }: {
    readonly extensions: readonly string[]
    readonly maxMessageBytes: number
    readonly clock: Clock
  },
): Envelope {
  const nowMs = clock.wallMs()
  return {
    id: uuidV7(nowMs),
    namespace: HEALTH,
    type: 'response',
    inReplyTo: id,
    isFinal: true,
    timestamp: new Date(nowMs).toISOString(),
    payload: { extensions, max_message_bytes: maxMessageBytes },
  }
}

/** Compares two tokens in constant time. */
function isSame(given: unknown, wanted: string): boolean {
  if (typeof given !== 'string') return false
  return timingSafeEqual(hash(given), hash(wanted))
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
