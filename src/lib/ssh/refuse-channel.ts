import type { Connection } from './ssh2.ts'

/** Reason codes for refused channels (RFC 4254, section 5.1). */
const REASONS = { prohibited: 1, 'connect failed': 2, 'unknown type': 3, 'resource shortage': 4 } as const

/** Reason for refusing a channel. */
export interface Refusal {
  readonly reason: keyof typeof REASONS
  /** Shown by clients. */
  readonly sentence: string
}

/** Descriptions of the refusals that ssh2 sends without one. */
const OWN_SENTENCES: ReadonlyMap<number, string> = new Map([
  [REASONS.prohibited, 'the server does not open channels of this type'],
  [REASONS['unknown type'], 'the server does not know this type of channel'],
  [REASONS['resource shortage'], 'the connection has too many channels'],
])

interface ConnectionInternals {
  readonly _protocol: { channelOpenFail(theirId: number, reason: number, description?: string): void }
}

/**
 * Returns a function that refuses a channel with a reason and a message. ssh2 1.17.0's `reject` accepts neither: it reports "connect
 * failed" without a message. Its own refusals get a message too.
 *
 * Uses private fields: ssh2 is pinned, and tests read the refusals.
 */
export function channelRefuser(connection: Connection): (reject: () => void, refusal: Refusal) => void {
  // oxlint-disable-next-line no-underscore-dangle -- ssh2's name
  const protocol = (connection as unknown as ConnectionInternals)._protocol
  const send = protocol.channelOpenFail.bind(protocol)
  let current: Refusal | undefined
  protocol.channelOpenFail = (theirId, reason, description) => {
    if (current === undefined) send(theirId, reason, description || OWN_SENTENCES.get(reason))
    else send(theirId, REASONS[current.reason], current.sentence)
  }
  return (reject, refusal) => {
    current = refusal
    // Sends synchronously, or nothing if the client disconnected or already has a response.
    reject()
    current = undefined
  }
}
