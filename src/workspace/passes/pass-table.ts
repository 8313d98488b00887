import { randomBytes } from 'node:crypto'
import { httpFault } from '../../lib/http/faults.ts'
import { nameKey } from '../name.ts'
import type { Clock } from '../../lib/clock/clock.ts'

const VALID_MS = 30_000
/** Far more than anybody asks for in that time; beyond, the oldest go. */
const MAX_PASSES = 1_000

/** What a pass opens: a terminal of a workspace, or one of its ports. */
export type PassPurpose = { readonly for: 'terminal' } | { readonly for: 'port'; readonly port: number }

/** A pass, and when it is worth nothing any more. */
export interface Pass {
  readonly pass: string
  readonly expiresAt: Date
}

/**
 * Stands in for the token where a browser can send no header of a page's choice: with a WebSocket and with a link. A pass
 * goes into an address, which others may get to see; so it opens one thing, once, and for 30 s.
 */
export class PassTable {
  readonly #passes = new Map<string, { readonly opens: string; readonly expiresAtMs: number }>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  issue(workspace: string, purpose: PassPurpose): Pass {
    const nowMs = this.#clock.wallMs()
    // They were all issued for the same time: the oldest come first.
    for (const [pass, { expiresAtMs }] of this.#passes) {
      if (expiresAtMs > nowMs && this.#passes.size < MAX_PASSES) break
      this.#passes.delete(pass)
    }
    const pass = randomBytes(32).toString('base64url')
    const expiresAtMs = nowMs + VALID_MS
    this.#passes.set(pass, { opens: keyOf(workspace, purpose), expiresAtMs })
    return { pass, expiresAt: new Date(expiresAtMs) }
  }

  /** Uses a pass up, whatever it was for. @throws UNAUTHORIZED when it does not open this, or nothing any more */
  take(pass: string | undefined, workspace: string, purpose: PassPurpose): void {
    const known = pass === undefined ? undefined : this.#passes.get(pass)
    if (pass !== undefined) this.#passes.delete(pass)
    if (known?.opens === keyOf(workspace, purpose) && known.expiresAtMs > this.#clock.wallMs()) return
    const what = purpose.for === 'terminal' ? 'a terminal' : `port ${purpose.port}`
    throw httpFault(
      'UNAUTHORIZED',
      `${what} of workspace "${workspace}" wants the server's token, or a pass for it that is not used and not older than ${VALID_MS / 1_000} s (POST /api/workspaces/{name}/passes)`,
    )
  }
}

function keyOf(workspace: string, purpose: PassPurpose): string {
  return `${nameKey(workspace)} ${purpose.for} ${purpose.for === 'port' ? purpose.port : ''}`
}
