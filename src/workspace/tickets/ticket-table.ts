import { randomBytes } from 'node:crypto'
import { httpFault } from '../../lib/http/faults.ts'
import { nameKey } from '../name.ts'
import type { Principal } from '../team/access-control.ts'
import type { Clock } from '../../lib/clock/clock.ts'

const VALID_MS = 30_000
/** Far more than clients request in that time; beyond it, the oldest are dropped. */
const MAX_TICKETS = 1_000

/** Resource that a ticket admits to: a terminal of a workspace, or one of its ports. */
export type TicketPurpose = { readonly for: 'terminal' } | { readonly for: 'port'; readonly port: number }

/** A one-time ticket and its expiry. The API calls it a pass. */
export interface Ticket {
  readonly ticket: string
  readonly expiresAt: Date
}

interface Entry {
  readonly opens: string
  readonly holder: Principal
  readonly expiresAtMs: number
}

/**
 * Issues one-time tickets that replace the token where a browser page cannot set a header: for a WebSocket
 * and for a link. A ticket is part of a URL, which others may see, so it admits to one thing, once, for 30 s.
 */
export class TicketTable {
  readonly #tickets = new Map<string, Entry>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @param holder who may then use it */
  issue(workspace: string, purpose: TicketPurpose, holder: Principal): Ticket {
    const nowMs = this.#clock.wallMs()
    // All tickets have the same lifetime, so the oldest come first.
    for (const [ticket, { expiresAtMs }] of this.#tickets) {
      if (expiresAtMs > nowMs && this.#tickets.size < MAX_TICKETS) break
      this.#tickets.delete(ticket)
    }
    const ticket = randomBytes(32).toString('base64url')
    const expiresAtMs = nowMs + VALID_MS
    this.#tickets.set(ticket, { opens: keyOf(workspace, purpose), holder, expiresAtMs })
    return { ticket, expiresAt: new Date(expiresAtMs) }
  }

  /**
   * Consumes a ticket, even one for another purpose, and returns to whom it was issued.
   *
   * @throws UNAUTHORIZED when it does not admit to this, or is expired or used
   */
  redeem(ticket: string | undefined, workspace: string, purpose: TicketPurpose): Principal {
    const entry = ticket === undefined ? undefined : this.#tickets.get(ticket)
    if (ticket !== undefined) this.#tickets.delete(ticket)
    if (entry?.opens === keyOf(workspace, purpose) && entry.expiresAtMs > this.#clock.wallMs())
      return entry.holder
    const what = purpose.for === 'terminal' ? 'a terminal' : `port ${purpose.port}`
    throw httpFault(
      'UNAUTHORIZED',
      `${what} of workspace "${workspace}" requires the server's token, or an unused pass that is at most ${VALID_MS / 1_000} s old (POST /api/workspaces/{name}/passes)`,
    )
  }
}

function keyOf(workspace: string, purpose: TicketPurpose): string {
  return `${nameKey(workspace)} ${purpose.for} ${purpose.for === 'port' ? purpose.port : ''}`
}
