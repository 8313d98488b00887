import type { NetworkMode, NetworkPlan } from './network.ts'
import { macOf } from './network.ts'

/** Gives machines their network, and takes it away when they end. */
export class Networks {
  readonly #mode: NetworkMode

  constructor(mode: NetworkMode) {
    this.#mode = mode
  }

  get isUserMode(): boolean {
    return this.#mode !== 'tap'
  }

  attach(id: string): Promise<NetworkPlan> {
    if (this.#mode === 'none') return Promise.resolve({ is: 'none' })
    return Promise.resolve({ is: 'user', mac: macOf(id) })
  }

  release(_id: string): Promise<void> {
    return Promise.resolve()
  }
}
