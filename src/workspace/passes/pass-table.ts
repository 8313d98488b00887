import { randomBytes } from 'node:crypto'
import { httpFault } from '../../lib/http/faults.ts'
import { nameKey } from '../name.ts'
import type { Clock } from '../../lib/clock/clock.ts'

const VALID_MS = 30_000
/** Far more than clients request in that time; beyond it, the oldest are dropped. */
const MAX_PASSES = 1_000

/** What a ticket admits to: a terminal of a workspace, or one of its ports. */
export type PassPurpose = { readonly for: 'terminal' } | { readonly for: 'port'; readonly port: number }

/** A one-time ticket and its expiry. The API calls it a pass. */
export interface Pass {
  readonly pass: string
  readonly expiresAt: Date
}

/**
 * Issues one-time tickets that replace the token where a browser page cannot set a header: for a WebSocket
 * and for a link. A ticket is part of a URL, which others may see, so it admits to one thing, once, for 30 s.
 */
export class PassTable {
  readonly #passes = new Map<string, { readonly opens: string; readonly expiresAtMs: number }>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  issue(workspace: string, purpose: PassPurpose): Pass {
    const nowMs = this.#clock.wallMs()
    // All tickets have the same lifetime, so the oldest come first.
    for (const [pass, { expiresAtMs }] of this.#passes) {
      if (expiresAtMs > nowMs && this.#passes.size < MAX_PASSES) break
      this.#passes.delete(pass)
    }
    const pass = randomBytes(32).toString('base64url')
    const expiresAtMs = nowMs + VALID_MS
    this.#passes.set(pass, { opens: keyOf(workspace, purpose), expiresAtMs })
    return { pass, expiresAt: new Date(expiresAtMs) }
  }

  /**
   * Consumes a ticket, whatever it was for.
   *
   * @throws UNAUTHORIZED when it does not admit to this, or is expired or used
   */
  take(pass: string | undefined, workspace: string, purpose: PassPurpose): void {
    const known = pass === undefined ? undefined : this.#passes.get(pass)
    if (pass !== undefined) this.#passes.delete(pass)
    if (known?.opens === keyOf(workspace, purpose) && known.expiresAtMs > this.#clock.wallMs()) return
    const what = purpose.for === 'terminal' ? 'a terminal' : `port ${purpose.port}`
    throw httpFault(
      'UNAUTHORIZED',
      `${what} of workspace "${workspace}" requires the server's token, or an unused pass that is at most ${VALID_MS / 1_000} s old (POST /api/workspaces/{name}/passes)`,
    )
  }
}

function keyOf(workspace: string, purpose: PassPurpose): string {
  return `${nameKey(workspace)} ${purpose.for} ${purpose.for === 'port' ? purpose.port : ''}`
}
