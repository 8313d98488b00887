import { messageOf } from '../../../lib/errors/message.ts'
import { fault } from '../../errors.ts'
import { AllowedNetworks } from '../../network/allowed-networks.ts'
import { ByLimits } from '../../network/by-limits.ts'
import type { NetworkLimits } from '../../network/narrow.ts'
import type { NetworkPolicy } from '../../network/policy.ts'
import type { Driver, UserNetwork } from './driver.ts'
import { hasFilterRules, writeFilterRules } from './network/filter-rules.ts'
import { macOf, type NetworkMode, type NetworkPlan } from './network/network.ts'
import { tapMissing, Taps } from './network/tap.ts'

/** Gives machines their network, and takes it away when they end. */
export class Networks {
  readonly #mode: NetworkMode
  readonly #driver: Driver
  readonly #groups: ByLimits<PolicyGroup>

  /** @param root the backend's directory */
  constructor(root: string, mode: NetworkMode, driver: Driver, policy: NetworkPolicy) {
    this.#mode = mode
    this.#driver = driver
    this.#groups = new ByLimits(policy, (key, allowed) => new PolicyGroup(`${root}${key}`, allowed))
  }

  close(): void {
    for (const [, group] of this.#groups.all) group.close()
  }

  /**
   * Connects a machine as `vm.network` says. With `auto` it is a tap device where this process may make one, else user-mode networking, else
   * nothing; a device that cannot be made is an error, never a reason for another kind.
   *
   * @param taken addresses that other machines have
   * @param progress gets a sentence when the machine has no network
   * @throws BACKEND_ERROR when the configured network is not possible
   */
  async attach(
    id: string,
    limits: NetworkLimits | undefined,
    taken: ReadonlySet<string>,
    progress: (message: string) => void,
  ): Promise<NetworkPlan> {
    const { name, userNetwork } = this.#driver
    switch (this.#mode) {
      case 'none':
        return { is: 'none' }
      case 'user': {
        if (userNetwork === undefined)
          throw fault('BACKEND_ERROR', `${name} has no user-mode networking: set vm.network to tap or none`)
        const missing = await userNetwork.missing()
        if (missing !== undefined)
          throw fault(
            'BACKEND_ERROR',
            `the machine's network cannot be created (vm.network: user): ${missing}`,
          )
        return (await this.#groupOf(limits)).planUser(id, userNetwork)
      }
      case 'tap': {
        const missing = await tapMissing()
        if (missing === undefined) return this.#tap(id, limits, taken)
        throw fault('BACKEND_ERROR', `the machine's network cannot be created (vm.network: tap): ${missing}`)
      }
      case 'auto':
      default: {
        if (name !== 'vz' && (await tapMissing()) === undefined) return this.#tap(id, limits, taken)
        const missing = await whyNoUserNetwork(name, userNetwork)
        if (missing === undefined && userNetwork !== undefined)
          return (await this.#groupOf(limits)).planUser(id, userNetwork)
        progress(`the machine has no network: ${missing}`)
        return { is: 'none' }
      }
    }
  }

  /** Applies the policy of now to a machine that runs. `ipAddress` is '' for one without a tap device. */
  async adopt(
    id: string,
    limits: NetworkLimits | undefined,
    socketDir: string,
    ipAddress: string,
  ): Promise<void> {
    const group = await this.#groupOf(limits)
    if (ipAddress !== '') return group.taps.adopt(id, ipAddress)
    if (hasFilterRules(socketDir)) await group.followRules(id, socketDir)
  }

  async release(id: string): Promise<void> {
    const groups = this.#groups.all.map(([, group]) => group)
    for (const group of groups) group.forgetRules(id)
    if (this.#mode !== 'tap' && this.#mode !== 'auto') return
    const { taps } = groups.find((group) => group.taps.has(id)) ?? (await this.#groupOf(undefined))
    await taps.remove(id).catch(() => undefined)
  }

  async #tap(
    id: string,
    limits: NetworkLimits | undefined,
    taken: ReadonlySet<string>,
  ): Promise<NetworkPlan> {
    const { taps } = await this.#groupOf(limits)
    try {
      return await taps.add(id, taken, this.#driver.userOf(id))
    } catch (error) {
      await taps.remove(id).catch(() => undefined)
      throw fault(
        'BACKEND_ERROR',
        `the machine's network cannot be created (vm.network: ${this.#mode}): ${messageOf(error)}`,
        error,
      )
    }
  }

  async #groupOf(limits: NetworkLimits | undefined): Promise<PolicyGroup> {
    const group = this.#groups.of(limits)
    await group.opened
    return group
  }
}

/** The machines for which one policy holds. */
class PolicyGroup {
  readonly taps: Taps
  /** Resolves once the names of the policy have been looked up. */
  readonly opened: Promise<void>
  readonly #policy: NetworkPolicy
  readonly #allowed: AllowedNetworks
  /** By machine, where its filter's rules belong to. */
  readonly #filtered = new Map<string, string>()

  /** @param name tells its bridge from those of others on this host */
  constructor(name: string, policy: NetworkPolicy) {
    this.#policy = policy
    this.taps = new Taps(name, policy)
    this.#allowed = new AllowedNetworks(policy, () => {
      for (const socketDir of this.#filtered.values()) void this.#writeRules(socketDir)
    })
    this.opened = this.#allowed.start()
  }

  planUser(id: string, { address }: UserNetwork): NetworkPlan {
    return { is: 'user', mac: macOf(id), address, policy: this.#policy, allowed: this.#allowed.all }
  }

  /** Keeps the rules of a machine's filter as the policy has them, from now on. */
  async followRules(id: string, socketDir: string): Promise<void> {
    this.#filtered.set(id, socketDir)
    await this.#writeRules(socketDir)
  }

  forgetRules(id: string): void {
    this.#filtered.delete(id)
  }

  close(): void {
    this.#allowed.stop()
    this.taps.close()
  }

  async #writeRules(socketDir: string): Promise<void> {
    await writeFilterRules(socketDir, this.#policy, this.#allowed.all).catch(() => undefined)
  }
}

async function whyNoUserNetwork(
  name: string,
  userNetwork: UserNetwork | undefined,
): Promise<string | undefined> {
  if (userNetwork === undefined)
    return `${name} connects machines by tap devices alone, which need root and /dev/net/tun`
  if (!userNetwork.isIsolated)
    return `set vm.network: user to connect it; it then reaches what this machine serves on all its addresses`
  return userNetwork.missing()
}
