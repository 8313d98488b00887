import { randomBytes } from 'node:crypto'
import { nameKey } from '../name.ts'
import type { Principal } from '../team/access-control.ts'
import type { PortTarget } from '../tunnel/port-host.ts'
import type { Clock } from '../../lib/clock/clock.ts'

const MAX_GRANTS = 10_000

/** How long a browser that presented a ticket for a port may return to it. */
export const GRANT_MS = 12 * 3_600_000

interface Entry {
  readonly opens: string
  readonly holder: Principal
  readonly endsAtMs: number
}

/**
 * Grants that browsers keep in cookies after they presented a ticket for a port. Kept in memory: a restarted
 * server requires new tickets.
 */
export class GrantTable {
  readonly #grants = new Map<string, Entry>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @param holder who may then use it */
  issue(target: PortTarget, holder: Principal): string {
    // Oldest first.
    for (const grant of this.#grants.keys()) {
      if (this.#grants.size < MAX_GRANTS) break
      this.#grants.delete(grant)
    }
    const grant = randomBytes(32).toString('base64url')
    this.#grants.set(grant, { opens: keyOf(target), holder, endsAtMs: this.#clock.wallMs() + GRANT_MS })
    return grant
  }

  /** Returns to whom a valid grant for a port was issued. */
  holderOf(grant: string, target: PortTarget): Principal | undefined {
    const entry = this.#grants.get(grant)
    const isValid = entry?.opens === keyOf(target) && entry.endsAtMs > this.#clock.wallMs()
    return isValid ? entry.holder : undefined
  }
}

function keyOf({ workspace, port }: PortTarget): string {
  return `${nameKey(workspace)} ${port}`
}
