import { messageOf } from '../../../lib/errors/message.ts'
import { fault } from '../../errors.ts'
import type { Driver } from './driver.ts'
import { macOf, type NetworkMode, type NetworkPlan } from './network.ts'
import { addTap, canTap, removeTap } from './tap.ts'

/** Gives machines their network, and takes it away when they end. */
export class Networks {
  readonly #mode: NetworkMode
  readonly #driver: Driver

  constructor(mode: NetworkMode, driver: Driver) {
    this.#mode = mode
    this.#driver = driver
  }

  /** @param taken addresses that other machines have. Throws BACKEND_ERROR where what is configured cannot be had. */
  async attach(id: string, taken: ReadonlySet<string>): Promise<NetworkPlan> {
    const { name, userNetwork } = this.#driver
    const byMonitor: NetworkPlan =
      userNetwork === undefined ? { is: 'none' } : { is: 'user', mac: macOf(id), address: userNetwork }
    switch (this.#mode) {
      case 'none':
        return { is: 'none' }
      case 'user':
        if (byMonitor.is === 'user') return byMonitor
        throw fault('BACKEND_ERROR', `${name} connects no machines by itself: set vm.network to tap or none`)
      case 'tap':
        return this.#tap(id, taken)
      case 'auto':
      default:
        // Whatever keeps it from a bridge, a machine works without one.
        return (await canTap()) && name !== 'vz' ? this.#tap(id, taken).catch(() => byMonitor) : byMonitor
    }
  }

  async release(id: string): Promise<void> {
    if (this.#mode === 'tap' || this.#mode === 'auto') await removeTap(id).catch(() => undefined)
  }

  async #tap(id: string, taken: ReadonlySet<string>): Promise<NetworkPlan> {
    try {
      return await addTap(id, taken, this.#driver.jails?.userOf(id))
    } catch (error) {
      await removeTap(id).catch(() => undefined)
      throw fault(
        'BACKEND_ERROR',
        `the machine's network cannot be made (vm.network: tap): ${messageOf(error)}`,
        error,
      )
    }
  }
}
