import { isIPv6 } from 'node:net'
import type { SessionStore } from '../session/session-store.ts'

const WINDOW_MS = 60_000
const TRIES = 5
/** Of all addresses together: so many guesses a minute are no guessing any more. */
const TRIES_OF_ALL = 300
const ALL = '*'

/** Lets five tries a minute of an address through, whichever process or host they come to. */
export class Throttle {
  readonly #store: Pick<SessionStore, 'countTry' | 'forgetTries'>

  constructor(store: Pick<SessionStore, 'countTry' | 'forgetTries'>) {
    this.#store = store
  }

  /** Counts a try; returns how long to wait where it is one too many. Throws SESSIONS_UNAVAILABLE. */
  async take(address: string): Promise<number | undefined> {
    const own = await this.#store.countTry(networkOf(address), WINDOW_MS)
    if (own.count > TRIES) return own.endsInMs
    const all = await this.#store.countTry(ALL, WINDOW_MS)
    return all.count > TRIES_OF_ALL ? all.endsInMs : undefined
  }

  /** Forgets the tries of an address that has logged in. */
  forget(address: string): Promise<void> {
    return this.#store.forgetTries(networkOf(address))
  }
}

/** Whoever has an IPv6 address has a whole /64 of them. */
function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  if (!isIPv6(address)) return address
  const [head = '', tail] = address.replace(/%.*/, '').split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? [] : Array<string>(8 - before.length - after.length).fill('0')
  return [...before, ...zeros, ...after].slice(0, 4).join(':')
}
