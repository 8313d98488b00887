import { createHash } from 'node:crypto'
import type { User } from './user.ts'
import { isPasswordOf } from './password.ts'
import { networkOf, type Throttle } from './throttle.ts'

/** Parallel hashes, each of which occupies a core and 128 MiB. */
const PARALLEL = 2
const MAX_WAITING = 20
/** Queue limit of one address; the rest of the queue is for others. */
const MAX_WAITING_OF_ONE = 5
const MAX_PASSWORD = 1_024

/** Result of a login attempt. */
export type LoginAttempt =
  | { readonly is: 'in'; readonly user: string; readonly proof: string }
  | { readonly is: 'wrong' }
  | { readonly is: 'later'; readonly afterMs: number }

/** Login with passwords. */
export class PasswordLogin {
  readonly #users: ReadonlyMap<string, User>
  readonly #proofs: ReadonlyMap<string, string>
  readonly #throttle: Throttle
  #running = 0
  readonly #waiting: { readonly network: string; readonly go: () => void }[] = []

  constructor(users: readonly User[], throttle: Throttle) {
    this.#users = new Map(users.map((user) => [user.name, user]))
    this.#proofs = new Map(users.map((user) => [user.name, proofOf(user)]))
    this.#throttle = throttle
  }

  /** Whether password login is configured. */
  get isEnabled(): boolean {
    return this.#users.size > 0
  }

  /** Whether users have names. */
  get hasNames(): boolean {
    return !this.#users.has('')
  }

  async try(address: string, name: string, password: string): Promise<LoginAttempt> {
    // Nobody has an empty name.
    const who = this.hasNames ? name || ' ' : ''
    const afterMs = await this.#throttle.countAttempt(who, address)
    if (afterMs !== undefined) return { is: 'later', afterMs }
    const network = networkOf(address)
    if (this.#isFullFor(network)) {
      await this.#throttle.returnAttempt(who, address)
      return { is: 'later', afterMs: 1_000 }
    }
    const user = this.#users.get(who)
    // An unknown name must take as long as a known one.
    const { passwordHash: hash = '' } = user ?? [...this.#users.values()][0] ?? {}
    const isRight = await this.#inTurn(network, () => isPasswordOf(password.slice(0, MAX_PASSWORD), hash))
    if (!isRight || user === undefined || password.length > MAX_PASSWORD) return { is: 'wrong' }
    await this.#throttle.succeeded(who, address)
    return { is: 'in', user: user.name, proof: proofOf(user) }
  }

  /** Whether a user still has the password that a session was started with. */
  isProof(name: string, proof: string): boolean {
    return this.#proofs.get(name) === proof
  }

  #isFullFor(network: string): boolean {
    if (this.#waiting.length >= MAX_WAITING) return true
    return this.#waiting.filter((each) => each.network === network).length >= MAX_WAITING_OF_ONE
  }

  async #inTurn<T>(network: string, work: () => Promise<T>): Promise<T> {
    if (this.#running >= PARALLEL)
      await new Promise<void>((resolve) => this.#waiting.push({ network, go: resolve }))
    else this.#running++
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next.go()
    }
  }
}

const PROOF = 'password:'

/** Whether a login was made with a password of a configured user. */
export function isPasswordProof(proof: string): boolean {
  return proof.startsWith(PROOF)
}

/** Identifies a password without revealing anything about it. */
function proofOf({ passwordHash }: User): string {
  return `${PROOF}${createHash('sha256').update(passwordHash).digest('base64url')}`
}
