import { ByLimits } from '../../../network/by-limits.ts'
import { keyOfLimits, limitsOfKey, type NetworkLimits } from '../../../network/narrow.ts'
import type { DockerEngine } from '../engine/engine.ts'
import { isThisHost } from './engine-host.ts'
import { IsolatedNetwork, type NetworkParts } from './isolated-network.ts'
import type { NetworkRecords } from './network-records.ts'

/**
 * The networks of one server's containers: one for containers without limits, and one per set of limits in
 * use.
 */
export class IsolatedNetworks {
  readonly #networks: ByLimits<IsolatedNetwork>
  readonly #records: NetworkRecords
  readonly #needsEngine: boolean

  constructor(engine: DockerEngine, parts: Omit<NetworkParts, 'key'>) {
    this.#records = parts.records
    this.#needsEngine = !isThisHost(engine)
    this.#networks = new ByLimits(
      parts.policy,
      (key, policy) => new IsolatedNetwork(engine, { ...parts, key, policy }),
    )
  }

  /** Returns the network for containers with these limits; it may not exist yet. */
  of(limits: NetworkLimits | undefined): IsolatedNetwork {
    return this.#networks.of(limits)
  }

  /** Restores the rules of recorded networks, unless that needs the engine, which may not respond. */
  async restore(): Promise<void> {
    if (this.#needsEngine) return
    const records = await this.#records.list()
    await Promise.all([...records].map(([key, subnet]) => this.of(limitsOfKey(key)).restore(subnet)))
  }

  /** Restores the rules of all networks that the engine has. */
  async reopen(inUse: readonly (NetworkLimits | undefined)[]): Promise<void> {
    for (const limits of [undefined, ...inUse]) this.of(limits)
    await Promise.all(this.#networks.all.map(([, network]) => network.reopen()))
  }

  /** Removes the network for these limits, with its rules, when no container uses them any more. */
  async releaseUnused(limits: NetworkLimits, inUse: readonly (NetworkLimits | undefined)[]): Promise<void> {
    const key = keyOfLimits(limits)
    if (inUse.some((each) => keyOfLimits(each) === key)) return
    if (await this.of(limits).remove()) {
      this.of(limits).close()
      this.#networks.delete(limits)
    }
  }

  /**
   * Stops watching all rules, and removes the networks that no container needs.
   *
   * @param inUse undefined when unknown; all networks then stay
   */
  async close(inUse: readonly (NetworkLimits | undefined)[] | undefined): Promise<void> {
    const keys = inUse && new Set(inUse.map(keyOfLimits))
    const unused = this.#networks.all.filter(([key]) => keys !== undefined && !keys.has(key))
    await Promise.all(unused.map(([, network]) => network.remove()))
    for (const [, network] of this.#networks.all) network.close()
  }
}
