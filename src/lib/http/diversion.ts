import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/**
 * Takes over a connection; must answer `101` itself, or throw before it has. What the client sent behind its request is read from the
 * socket like all that follows.
 */
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex) => Promise<void>

/** Another server behind some of this one's host names or paths. It gets targets that no router has parsed. */
export interface Diversion {
  readonly isFor: (request: IncomingMessage) => boolean
  /** Whether a request to leave HTTP is its to answer; any other is answered as a plain request. */
  readonly acceptsUpgrade: (request: IncomingMessage) => boolean
  readonly answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>
  readonly upgrade: UpgradeHandler
  /** Breaks off the answers that are under way. */
  readonly endAnswers: () => void
}
