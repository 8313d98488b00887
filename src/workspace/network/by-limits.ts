import { keyOfLimits, narrowed, type NetworkLimits } from './narrow.ts'
import type { NetworkPolicy } from './policy.ts'

/** Values that are made once for all workspaces with the same limits. */
export class ByLimits<T> {
  readonly #policy: NetworkPolicy
  readonly #make: (key: string, policy: NetworkPolicy) => T
  readonly #made = new Map<string, T>()

  /**
   * @param policy the server's
   * @param make gets the limits' key, '' for none, and what policy and limits allow together
   */
  constructor(policy: NetworkPolicy, make: (key: string, policy: NetworkPolicy) => T) {
    this.#policy = policy
    this.#make = make
  }

  of(limits: NetworkLimits | undefined): T {
    const key = keyOfLimits(limits)
    const known = this.#made.get(key)
    if (known !== undefined) return known
    const made = this.#make(key, narrowed(this.#policy, limits))
    this.#made.set(key, made)
    return made
  }

  delete(limits: NetworkLimits | undefined): void {
    this.#made.delete(keyOfLimits(limits))
  }

  /** With the key of their limits. */
  get all(): readonly (readonly [key: string, made: T])[] {
    return [...this.#made]
  }
}
