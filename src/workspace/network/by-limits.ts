import { keyOfLimits, narrowed, type NetworkLimits } from './narrow.ts'
import type { NetworkPolicy } from './policy.ts'

/** Values that workspaces with the same limits share. */
export class ByLimits<T> {
  readonly #policy: NetworkPolicy
  readonly #make: (key: string, policy: NetworkPolicy) => T
  readonly #values = new Map<string, T>()

  /**
   * @param policy the server's policy
   * @param make receives the limits' key, '' for none, and the policy narrowed by the limits
   */
  constructor(policy: NetworkPolicy, make: (key: string, policy: NetworkPolicy) => T) {
    this.#policy = policy
    this.#make = make
  }

  of(limits: NetworkLimits | undefined): T {
    const key = keyOfLimits(limits)
    const existing = this.#values.get(key)
    if (existing !== undefined) return existing
    const value = this.#make(key, narrowed(this.#policy, limits))
    this.#values.set(key, value)
    return value
  }

  delete(limits: NetworkLimits | undefined): void {
    this.#values.delete(keyOfLimits(limits))
  }

  /** All values with the keys of their limits. */
  get all(): readonly (readonly [key: string, value: T])[] {
    return [...this.#values]
  }
}
