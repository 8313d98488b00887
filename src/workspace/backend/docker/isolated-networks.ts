import { keyOfLimits, narrowed, type NetworkLimits } from '../../network/narrow.ts'
import type { NetworkPolicy } from '../../network/policy.ts'
import type { DockerEngine } from './engine.ts'
import { IsolatedNetwork } from './isolated-network.ts'

/** The networks of one server's containers: one for those without limits of their own, and one for each set of limits in use. */
export class IsolatedNetworks {
  readonly #engine: DockerEngine
  readonly #serverId: string
  readonly #policy: NetworkPolicy
  readonly #helperImage: string
  readonly #networks = new Map<string, IsolatedNetwork>()

  constructor(engine: DockerEngine, serverId: string, policy: NetworkPolicy, helperImage: string) {
    this.#engine = engine
    this.#serverId = serverId
    this.#policy = policy
    this.#helperImage = helperImage
  }

  /** Returns the network for containers with these limits; it may not exist yet. */
  of(limits: NetworkLimits | undefined): IsolatedNetwork {
    const key = keyOfLimits(limits)
    const known = this.#networks.get(key)
    if (known !== undefined) return known
    const network = new IsolatedNetwork(this.#engine, {
      serverId: this.#serverId,
      key,
      policy: narrowed(this.#policy, limits),
      helperImage: this.#helperImage,
    })
    this.#networks.set(key, network)
    return network
  }

  /** Puts the rules of networks that exist into force; their containers may be running. */
  async reopen(inUse: readonly (NetworkLimits | undefined)[]): Promise<void> {
    for (const limits of [undefined, ...inUse]) this.of(limits)
    await Promise.all([...this.#networks.values()].map((network) => network.reopen()))
  }

  /** Removes the network for these limits, with its rules, when no container has them any more. */
  async releaseUnused(limits: NetworkLimits, inUse: readonly (NetworkLimits | undefined)[]): Promise<void> {
    const key = keyOfLimits(limits)
    if (inUse.some((each) => keyOfLimits(each) === key)) return
    const network = this.of(limits)
    this.#networks.delete(key)
    await network.close(true)
  }

  /** Ends the watch over all rules, and removes the networks that no container needs. */
  async close(inUse: readonly (NetworkLimits | undefined)[]): Promise<void> {
    const keys = new Set(inUse.map(keyOfLimits))
    await Promise.all([...this.#networks].map(([key, network]) => network.close(!keys.has(key))))
  }
}
