import { randomBytes } from 'node:crypto'
import { nameKey } from '../name.ts'
import type { PortTarget } from '../tunnel/port-host.ts'
import type { Clock } from '../../lib/clock/clock.ts'

const MAX_GRANTS = 10_000

/** How long a browser that presented a ticket for a port may return to it. */
export const GRANT_MS = 12 * 3_600_000

/**
 * Grants that browsers keep in cookies after they presented a ticket for a port. Kept in memory: a restarted
 * server requires new tickets.
 */
export class GrantTable {
  readonly #grants = new Map<string, { readonly opens: string; readonly endsAtMs: number }>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  issue(target: PortTarget): string {
    // Oldest first.
    for (const grant of this.#grants.keys()) {
      if (this.#grants.size < MAX_GRANTS) break
      this.#grants.delete(grant)
    }
    const grant = randomBytes(32).toString('base64url')
    this.#grants.set(grant, { opens: keyOf(target), endsAtMs: this.#clock.wallMs() + GRANT_MS })
    return grant
  }

  opens(grant: string | undefined, target: PortTarget): boolean {
    const entry = grant === undefined ? undefined : this.#grants.get(grant)
    return entry?.opens === keyOf(target) && entry.endsAtMs > this.#clock.wallMs()
  }
}

function keyOf({ workspace, port }: PortTarget): string {
  return `${nameKey(workspace)} ${port}`
}
