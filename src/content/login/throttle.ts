import { createHash } from 'node:crypto'
import { isIPv6 } from 'node:net'
import type { SessionStore } from '../session/session-store.ts'

type TryStore = Pick<SessionStore, 'countTry' | 'returnTry' | 'forgetTries'>

const WINDOW_MS = 60_000
/** Failures a minute of one user at one address. */
const OF_BOTH = 5
/** Failures a minute of one address, for all users: an office mistypes less often, a list of names has more. */
const OF_ADDRESS = 60
/** Failures a minute of one user from everywhere. */
const OF_USER = 100

/**
 * Lets five failures a minute of a user at an address through, whichever process or host they come to, and looser numbers of
 * the address and of the user. Nothing is counted for all together: nobody can lock out everybody.
 */
export class Throttle {
  readonly #store: TryStore

  constructor(store: TryStore) {
    this.#store = store
  }

  /**
   * Counts a try as failed. Returns how long to wait where it is one too many; it then counts no further, so that nobody uses up
   * the tries of a user with those that are refused.
   *
   * @throws SESSIONS_UNAVAILABLE
   * @param user '' where users have no names: then only addresses are counted
   */
  async take(user: string, address: string): Promise<number | undefined> {
    for (const { who, most } of countersOf(user, address)) {
      const { count, endsInMs } = await this.#store.countTry(who, WINDOW_MS)
      if (count > most) return endsInMs
    }
    return undefined
  }

  /** Returns a try that was taken and has not failed. */
  async giveBack(user: string, address: string): Promise<void> {
    for (const { who } of countersOf(user, address)) await this.#store.returnTry(who)
  }

  /** Returns the try of a user who has logged in, and forgets their failures at that address. */
  async succeeded(user: string, address: string): Promise<void> {
    await this.giveBack(user, address)
    const own = countersOf(user, address).find(({ most }) => most === OF_BOTH)
    if (own !== undefined) await this.#store.forgetTries(own.who)
  }
}

/** The widest refusal first: an address that is refused makes no counters for the names that it tries. */
function countersOf(
  user: string,
  address: string,
): readonly { readonly who: string; readonly most: number }[] {
  const network = networkOf(address)
  if (user === '') return [{ who: network, most: OF_BOTH }]
  // Names may be of any length, and are nobody's business in the store.
  const name = createHash('sha256').update(user).digest('base64url')
  return [
    { who: network, most: OF_ADDRESS },
    { who: `${network} ${name}`, most: OF_BOTH },
    { who: `user ${name}`, most: OF_USER },
  ]
}

/** Whoever has an IPv6 address has a whole /64 of them. */
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
