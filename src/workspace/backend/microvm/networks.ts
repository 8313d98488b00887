import { messageOf } from '../../../lib/errors/message.ts'
import { fault } from '../../errors.ts'
import { AllowedNetworks } from '../../network/allowed-networks.ts'
import type { NetworkPolicy } from '../../network/policy.ts'
import type { Driver, UserNetwork } from './driver.ts'
import { hasFilterRules, writeFilterRules } from './filter-rules.ts'
import { macOf, type NetworkMode, type NetworkPlan } from './network.ts'
import { tapMissing, Taps } from './tap.ts'

/** Gives machines their network, and takes it away when they end. */
export class Networks {
  readonly #mode: NetworkMode
  readonly #driver: Driver
  readonly #policy: NetworkPolicy
  readonly #allowed: AllowedNetworks
  readonly #taps: Taps
  /** By machine, where its filter's rules belong to. */
  readonly #filtered = new Map<string, string>()

  /** @param root the backend's directory */
  constructor(root: string, mode: NetworkMode, driver: Driver, policy: NetworkPolicy) {
    this.#mode = mode
    this.#driver = driver
    this.#policy = policy
    this.#taps = new Taps(root, policy)
    this.#allowed = new AllowedNetworks(policy.egress, () => {
      for (const socketDir of this.#filtered.values()) void this.#update(socketDir)
    })
  }

  async open(): Promise<void> {
    await this.#allowed.start()
  }

  close(): void {
    this.#allowed.stop()
    this.#taps.close()
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
        return this.#user(id, userNetwork)
      }
      case 'tap': {
        const missing = await tapMissing()
        if (missing === undefined) return this.#tap(id, taken)
        throw fault('BACKEND_ERROR', `the machine's network cannot be created (vm.network: tap): ${missing}`)
      }
      case 'auto':
      default: {
        if (name !== 'vz' && (await tapMissing()) === undefined) return this.#tap(id, taken)
        const missing = await whyNoUserNetwork(name, userNetwork)
        if (missing === undefined && userNetwork !== undefined) return this.#user(id, userNetwork)
        progress(`the machine has no network: ${missing}`)
        return { is: 'none' }
      }
    }
  }

  /** Applies the policy of now to a machine that runs. `ipAddress` is '' for one without a tap device. */
  async adopt(id: string, socketDir: string, ipAddress: string): Promise<void> {
    if (ipAddress !== '') return this.#taps.adopt(id, ipAddress)
    if (!hasFilterRules(socketDir)) return
    this.#filtered.set(id, socketDir)
    await this.#update(socketDir)
  }

  async release(id: string): Promise<void> {
    this.#filtered.delete(id)
    if (this.#mode === 'tap' || this.#mode === 'auto') await this.#taps.remove(id).catch(() => undefined)
  }

  async #update(socketDir: string): Promise<void> {
    await writeFilterRules(socketDir, this.#policy, this.#allowed.all).catch(() => undefined)
  }

  #user(id: string, { address }: UserNetwork): NetworkPlan {
    return { is: 'user', mac: macOf(id), address, policy: this.#policy, allowed: this.#allowed.all }
  }

  async #tap(id: string, taken: ReadonlySet<string>): Promise<NetworkPlan> {
    try {
      return await this.#taps.add(id, taken, this.#driver.userOf(id))
    } catch (error) {
      await this.#taps.remove(id).catch(() => undefined)
      throw fault(
        'BACKEND_ERROR',
        `the machine's network cannot be created (vm.network: ${this.#mode}): ${messageOf(error)}`,
        error,
      )
    }
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
