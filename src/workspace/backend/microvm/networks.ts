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

/** Connects VMs to networks, and disconnects them when they stop. */
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
   * Connects a VM as `vm.network` specifies. `auto` selects a tap device if this process may create one, else
   * user-mode networking, else no network. A device that cannot be created is an error and never causes a
   * fallback.
   *
   * @param taken addresses of other VMs
   * @param progress receives a sentence when the VM has no network
   * @throws BACKEND_ERROR when the configured network is not available
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
          throw fault(
            'BACKEND_ERROR',
            `${name} does not support user-mode networking; set vm.network to tap or none`,
          )
        const missing = await userNetwork.missing()
        if (missing !== undefined)
          throw fault('BACKEND_ERROR', `the VM's network cannot be created (vm.network: user): ${missing}`)
        return (await this.#groupOf(limits)).planUser(id, userNetwork)
      }
      case 'tap': {
        const missing = await tapMissing()
        if (missing === undefined) return this.#tap(id, limits, taken)
        throw fault('BACKEND_ERROR', `the VM's network cannot be created (vm.network: tap): ${missing}`)
      }
      case 'auto':
      default: {
        if (name !== 'vz' && (await tapMissing()) === undefined) return this.#tap(id, limits, taken)
        const missing = await whyNoUserNetwork(name, userNetwork)
        if (missing === undefined && userNetwork !== undefined)
          return (await this.#groupOf(limits)).planUser(id, userNetwork)
        progress(`the VM has no network: ${missing}`)
        return { is: 'none' }
      }
    }
  }

  /** Applies the current policy to a running VM. `ipAddress` is '' for a VM without a tap device. */
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
        `the VM's network cannot be created (vm.network: ${this.#mode}): ${messageOf(error)}`,
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

/** The VMs that share one policy. */
class PolicyGroup {
  readonly taps: Taps
  /** Resolves once the policy's host names have been resolved. */
  readonly opened: Promise<void>
  readonly #policy: NetworkPolicy
  readonly #allowed: AllowedNetworks
  /** Socket directories of VMs with a frame filter, by VM. */
  readonly #filtered = new Map<string, string>()

  /** @param name distinguishes its bridge from others on this host */
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

  /** Keeps the rules of a VM's filter up to date from now on. */
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
    return `${name} connects VMs only through tap devices, which require root and /dev/net/tun`
  if (!userNetwork.isIsolated)
    return `set vm.network to user to connect it; it can then reach services that this host exposes on all its addresses`
  return userNetwork.missing()
}
