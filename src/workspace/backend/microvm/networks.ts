import { messageOf } from '../../../lib/errors/message.ts'
import { fault } from '../../errors.ts'
import { AllowedNetworks, soonStarted } from '../../network/allowed-networks.ts'
import { ByLimits } from '../../network/by-limits.ts'
import { keyOfLimits, type NetworkLimits } from '../../network/narrow.ts'
import type { NetworkPolicy } from '../../network/policy.ts'
import type { Driver, UserNetwork } from './driver.ts'
import { hasFilterRules, writeFilterRules } from './network/filter-rules.ts'
import { macOf, type NetworkMode, type NetworkPlan } from './network/network.ts'
import { tapMissing, Taps } from './network/tap.ts'
import {
  APPLY_RULES,
  attempt,
  attemptUntilDone,
  type Report,
  type Subject,
  workspaceSubject,
} from '../trouble.ts'

/** Connects VMs to networks, and disconnects them when they stop. */
export class Networks {
  readonly #mode: NetworkMode
  readonly #driver: Driver
  readonly #report: Report
  readonly #groups: ByLimits<PolicyGroup>

  /** @param root the backend's directory */
  constructor(root: string, mode: NetworkMode, driver: Driver, policy: NetworkPolicy, report: Report) {
    this.#mode = mode
    this.#driver = driver
    this.#report = report
    this.#groups = new ByLimits(policy, (key, allowed) => new PolicyGroup(root, key, allowed, report))
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

  /** Applies the current policy to a running VM, and tries again until it is in force. */
  async adopt(machine: ConnectedMachine, limits: NetworkLimits | undefined): Promise<void> {
    const group = this.#groups.of(limits)
    await soonStarted(group.opened)
    if (machine.ipAddress !== '' || hasFilterRules(machine.socketDir)) await group.adopt(machine)
  }

  async release(id: string): Promise<void> {
    const groups = this.#groups.all.map(([, group]) => group)
    for (const group of groups) group.forget(id)
    if (this.#mode !== 'tap' && this.#mode !== 'auto') return
    const { taps } = groups.find((group) => group.taps.has(id)) ?? (await this.#groupOf(undefined))
    await this.#removeTap(taps, id)
  }

  #removeTap(taps: Taps, id: string): Promise<boolean> {
    return attempt(this.#report, 'remove the network device of a virtual machine', () => taps.remove(id))
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
      await this.#removeTap(taps, id)
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

/** A running VM with a network. */
interface ConnectedMachine {
  readonly id: string
  readonly name: string
  readonly socketDir: string
  /** '' for a VM without a tap device, whose frames pass through a filter. */
  readonly ipAddress: string
}

/** The VMs that share one policy. */
class PolicyGroup {
  readonly taps: Taps
  /** Resolves once the policy's host names have been resolved. */
  readonly opened: Promise<void>
  readonly #policy: NetworkPolicy
  readonly #allowed: AllowedNetworks
  readonly #report: Report
  /** VMs with a frame filter, by id. */
  readonly #filtered = new Map<string, ConnectedMachine>()
  /** End attempts to apply the policy, by the VM's id. */
  readonly #attempts = new Map<string, AbortController>()

  /** @param root with `key`, distinguishes its bridge from others on this host */
  constructor(root: string, key: string, policy: NetworkPolicy, report: Report) {
    this.#policy = policy
    this.#report = report
    const subject: Subject = {
      name: `the network of virtual machines${key === '' ? '' : ` with ${key}`}`,
      concerns: ({ ipAddress, networkLimits }) => ipAddress !== '' && keyOfLimits(networkLimits) === key,
    }
    this.taps = new Taps(`${root}${key}`, policy, (error) => report({ what: APPLY_RULES, error, subject }))
    this.#allowed = new AllowedNetworks(policy, () => {
      for (const machine of this.#filtered.values()) void this.adopt(machine)
    })
    this.opened = this.#allowed.start()
  }

  planUser(id: string, { address }: UserNetwork): NetworkPlan {
    return { is: 'user', mac: macOf(id), address, policy: this.#policy, allowed: this.#allowed.all }
  }

  /** Applies the policy to a VM, and from now on its changes. */
  async adopt(machine: ConnectedMachine): Promise<void> {
    const { id, name, ipAddress, socketDir } = machine
    this.#attempts.get(id)?.abort()
    const controller = new AbortController()
    this.#attempts.set(id, controller)
    if (ipAddress === '') this.#filtered.set(id, machine)
    const work = (): Promise<void> =>
      ipAddress === ''
        ? writeFilterRules(socketDir, this.#policy, this.#allowed.all)
        : this.taps.adopt(id, ipAddress)
    await attemptUntilDone(this.#report, APPLY_RULES, work, controller.signal, workspaceSubject(name))
  }

  forget(id: string): void {
    this.#attempts.get(id)?.abort()
    this.#attempts.delete(id)
    this.#filtered.delete(id)
  }

  close(): void {
    for (const each of this.#attempts.values()) each.abort()
    this.#allowed.stop()
    this.taps.close()
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
