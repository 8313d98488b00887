import type { Envelope, ReceivedEnvelope } from '../../lib/envelope/envelope.ts'
import type { ConnectedWorkspace } from './guest-message.ts'

/** A message that passed, or was lost, and why. */
export interface BusNews {
  /** Its payload may be a secret: see `shownPayload`. */
  readonly envelope: Envelope | ReceivedEnvelope
  readonly workspace: ConnectedWorkspace
  /** `no_listener`: an event; `refused`: too many wait; `expired`: nobody answered; `late`: nobody waits for the answer any more. */
  readonly lost?: 'no_listener' | 'refused' | 'expired' | 'late'
}

/** What went which way since the server began, and what was lost. */
export interface BusCounts {
  requests: number
  responses: number
  events: number
  /** Events that no listener was there for. */
  droppedEvents: number
  /** Requests that were turned away because too many waited. */
  refusedRequests: number
  expiredRequests: number
  /** Answers that nobody waited for any more, or that came twice. */
  lateResponses: number
  /** Messages of other servers' guests whose listener had just gone; their own servers count them as what they become. */
  strayMessages: number
  /** Messages that NATS carries to no other server: they are longer than it takes. */
  oversizedMessages: number
}
