import { ByLimits } from '../../../network/by-limits.ts'
import { keyOfLimits, type NetworkLimits } from '../../../network/narrow.ts'
import type { DockerEngine } from '../engine/engine.ts'
import { IsolatedNetwork, type NetworkParts } from './isolated-network.ts'

/**
 * The networks of one server's containers: one for containers without limits, and one per set of limits in
 * use.
 */
export class IsolatedNetworks {
  readonly #networks: ByLimits<IsolatedNetwork>

  constructor(engine: DockerEngine, parts: Omit<NetworkParts, 'key'>) {
    this.#networks = new ByLimits(
      parts.policy,
      (key, policy) => new IsolatedNetwork(engine, { ...parts, key, policy }),
    )
  }

  /** Returns the network for containers with these limits; it may not exist yet. */
  of(limits: NetworkLimits | undefined): IsolatedNetwork {
    return this.#networks.of(limits)
  }

  /** Puts the rules of networks that exist into force, and tries again until they hold: their containers may be running. */
  async reopen(inUse: readonly (NetworkLimits | undefined)[]): Promise<void> {
    for (const limits of [undefined, ...inUse]) this.of(limits)
    await Promise.all(this.#networks.all.map(([, network]) => network.reopen()))
  }

  /** Removes the network for these limits, with its rules, when no container uses them any more. */
  async releaseUnused(limits: NetworkLimits, inUse: readonly (NetworkLimits | undefined)[]): Promise<void> {
    const key = keyOfLimits(limits)
    if (inUse.some((each) => keyOfLimits(each) === key)) return
    const network = this.of(limits)
    this.#networks.delete(limits)
    await network.close(true)
  }

  /**
   * Stops watching all rules, and removes the networks that no container needs.
   *
   * @param inUse undefined when unknown; all networks then stay
   */
  async close(inUse: readonly (NetworkLimits | undefined)[] | undefined): Promise<void> {
    const keys = inUse && new Set(inUse.map(keyOfLimits))
    await Promise.all(
      this.#networks.all.map(([key, network]) => network.close(keys !== undefined && !keys.has(key))),
    )
  }
}
