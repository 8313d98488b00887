import { createHash } from 'node:crypto'
import { isIPv6 } from 'node:net'
import type { SessionStore } from '../session/session-store.ts'

type TryStore = Pick<SessionStore, 'countTry' | 'returnTry' | 'forgetTries'>

const WINDOW_MS = 60_000
/** Failures per minute of one user at one address. */
const OF_BOTH = 5
/**
 * Failures per minute of one address for all users: more than the typing errors of an office, less than a list of
 * names.
 */
const OF_ADDRESS = 60
/** Failures per minute of one user from all addresses. */
const OF_USER = 100

/**
 * Limits failed logins to five per minute for a user at an address, across all processes and hosts, with looser
 * limits for the address and for the user. There is no global limit, so nobody can lock everybody out.
 */
export class Throttle {
  readonly #store: TryStore

  constructor(store: TryStore) {
    this.#store = store
  }

  /**
   * Counts an attempt as failed. Returns the time to wait if it exceeds a limit; such an attempt counts for no
   * further limit, so that refused attempts do not use up a user's.
   *
   * @throws SESSIONS_UNAVAILABLE
   * @param user '' if users have no names: then only addresses are counted
   */
  async countAttempt(user: string, address: string): Promise<number | undefined> {
    for (const { who, limit } of countersOf(user, address)) {
      const { count, endsInMs } = await this.#store.countTry(who, WINDOW_MS)
      if (count > limit) return endsInMs
    }
    return undefined
  }

  /** Returns an attempt that did not fail. */
  async returnAttempt(user: string, address: string): Promise<void> {
    for (const { who } of countersOf(user, address)) await this.#store.returnTry(who)
  }

  /** Returns the attempt of a user who has logged in, and resets their failures at that address. */
  async succeeded(user: string, address: string): Promise<void> {
    await this.returnAttempt(user, address)
    const own = countersOf(user, address).find(({ limit }) => limit === OF_BOTH)
    if (own !== undefined) await this.#store.forgetTries(own.who)
  }
}

/** The broadest limit comes first: a refused address creates no counters for the names that it tries. */
function countersOf(
  user: string,
  address: string,
): readonly { readonly who: string; readonly limit: number }[] {
  const network = networkOf(address)
  if (user === '') return [{ who: network, limit: OF_BOTH }]
  // Names may have any length, and must not be readable in the store.
  const name = createHash('sha256').update(user).digest('base64url')
  return [
    { who: network, limit: OF_ADDRESS },
    { who: `${network} ${name}`, limit: OF_BOTH },
    { who: `user ${name}`, limit: OF_USER },
  ]
}

/** An IPv6 client usually owns a whole /64. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  if (!isIPv6(address)) return address
  const [head = '', tail] = address.replace(/%.*/, '').split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? [] : Array<string>(8 - before.length - after.length).fill('0')
  return [...before, ...zeros, ...after].slice(0, 4).join(':')
}
