import type { InformationEvent, IncomingMessage, ServerResponse } from 'node:http'
import { valuesOf } from './header-pairs.ts'

/**
 * Passes on the links of a 103 answer, so that a browser can fetch what the page will need. Other interim answers end here: they
 * concern a connection (100, 102) or are unknown. Source: RFC 8297.
 */
export function passEarlyHints(
  information: InformationEvent,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  if (information.statusCode !== 103 || request.httpVersion !== '1.1' || response.headersSent) return
  const link = valuesOf(information.rawHeaders, 'link')
  if (link.length === 0) return
  try {
    response.writeEarlyHints({ link: [...link] })
  } catch {
    // Hints are optional; Node refuses links that are not valid.
  }
}
