import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/**
 * Takes over a connection; must send `101` itself, or throw before it has. Data that the client sent after its request is read from
 * the socket like any other.
 */
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex) => Promise<void>

/** Another server for some host names or paths of this one. It receives unparsed targets. */
export interface Diversion {
  readonly isFor: (request: IncomingMessage) => boolean
  /** Whether it handles an upgrade request; otherwise the request is handled as a plain one. */
  readonly acceptsUpgrade: (request: IncomingMessage) => boolean
  /** @param passOn leaves the request to this server after all; for one of which nothing was read or answered */
  readonly answer: (request: IncomingMessage, response: ServerResponse, passOn: () => void) => Promise<void>
  readonly upgrade: UpgradeHandler
  /** Cuts responses in progress. */
  readonly endAnswers: () => void
}
