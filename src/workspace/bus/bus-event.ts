import type { Envelope, ReceivedEnvelope } from '../../lib/envelope/envelope.ts'
import type { ConnectedWorkspace } from './guest-message.ts'

/** A message that the bus carried, or lost and why. */
export interface BusEvent {
  /** Its payload may be a secret: see `shownPayload`. */
  readonly envelope: Envelope | ReceivedEnvelope
  readonly workspace: ConnectedWorkspace
  /**
   * Why it was lost. `no_listener`: an event without a listener; `refused`: too many messages are waiting;
   * `expired`: nobody answered; `late`: nobody waits for the answer any more.
   */
  readonly lost?: 'no_listener' | 'refused' | 'expired' | 'late'
}

/** Messages carried and lost since the server started, by kind. */
export interface BusCounts {
  requests: number
  responses: number
  events: number
  /** Events without a listener. */
  droppedEvents: number
  /** Requests and events refused because too many were waiting. */
  refusedMessages: number
  expiredRequests: number
  /** Answers that nobody waited for any more, and duplicates. */
  lateResponses: number
  /**
   * Messages from guests of other servers whose listener had just left; their own servers count the outcome.
   */
  strayMessages: number
  /** Messages too long for NATS, which reached no other server. */
  oversizedMessages: number
}
