import { lookup } from 'node:dns/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { ignore } from '../../lib/errors/ignore.ts'
import { blockListOf, isNetwork, type NetworkPolicy, PRIVATE_NETWORKS } from './policy.ts'

/** Time for which guests keep earlier rules while names are resolved. */
const PATIENCE_MS = 2_000
const LOOK_UP_EVERY_MS = 30_000
/**
 * Names of large services resolve to different addresses each time: an address stays allowed for a while
 * after it was last seen.
 */
const KEEP_MS = 10 * 60_000

const PRIVATE = blockListOf(PRIVATE_NETWORKS)

/** The networks that a list of names, addresses and networks resolves to; names are resolved periodically. */
export class AllowedNetworks {
  readonly #networks: readonly string[]
  readonly #names: readonly string[]
  readonly #isPublicOnly: boolean
  /** When each address was last returned for a name. */
  readonly #seen = new Map<string, number>()
  readonly #onChange: () => void
  readonly #lookUp: (name: string) => Promise<readonly string[]>
  /** The start whose names are resolved; undefined once stopped. */
  #run: object | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(
    { egress, isPublicOnly = false }: Pick<NetworkPolicy, 'egress' | 'isPublicOnly'>,
    onChange: () => void,
    lookUp = addressesOf,
  ) {
    const entries = typeof egress === 'string' ? [] : egress
    this.#networks = entries.filter(isNetwork)
    this.#names = entries.filter((entry) => !isNetwork(entry))
    this.#isPublicOnly = isPublicOnly
    this.#onChange = onChange
    this.#lookUp = lookUp
  }

  /** IPv4 addresses and networks in CIDR notation. */
  get all(): readonly string[] {
    return [...this.#networks, ...this.#seen.keys()]
  }

  /** Resolves all names, and again every 30 s. A name that cannot be resolved has no addresses. */
  async start(): Promise<void> {
    if (this.#names.length === 0) return
    const run = (this.#run = {})
    await this.#refresh(run)
    if (this.#run !== run) return
    this.#timer = setInterval(() => void this.#refresh(run), LOOK_UP_EVERY_MS)
    this.#timer.unref()
  }

  stop(): void {
    this.#run = undefined
    clearInterval(this.#timer)
  }

  async #refresh(run: object): Promise<void> {
    const before = this.all.join()
    const now = performance.now()
    const found = await Promise.all(
      this.#names.map((name) => this.#lookUp(name).catch(ignore('known addresses stay for a while', []))),
    )
    if (this.#run !== run) return
    for (const address of found.flat())
      if (!this.#isPublicOnly || !PRIVATE.check(address)) this.#seen.set(address, now)
    for (const [address, at] of this.#seen) if (now - at > KEEP_MS) this.#seen.delete(address)
    if (this.all.join() !== before) this.#onChange()
  }
}

/** Waits for names to be resolved, but not long: `onChange` reports addresses that are found later. */
export async function soonStarted(started: Promise<void>): Promise<void> {
  await Promise.race([started, delay(PATIENCE_MS, undefined, { ref: false })])
}

async function addressesOf(name: string): Promise<readonly string[]> {
  return (await lookup(name, { family: 4, all: true })).map(({ address }) => address)
}
