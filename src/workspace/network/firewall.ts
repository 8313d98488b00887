import { messageOf } from '../../lib/errors/message.ts'
import { findProgram } from '../../lib/process/find-program.ts'
import { run } from '../../lib/process/run.ts'
import { AllowedNetworks } from './allowed-networks.ts'
import { outwardInterfaces } from './outward.ts'
import type { NetworkPolicy } from './policy.ts'
import { readResolvers } from './resolvers.ts'
import { type GuestBridge, removalOf, rulesetOf } from './ruleset.ts'

const CHECK_EVERY_MS = 10_000
const TIMEOUT_MS = 10_000

/**
 * Runs `nft` with these arguments and this standard input on the host that forwards the guests' packets.
 * Rejects with nft's error message.
 */
export interface Nft {
  (argv: readonly string[], script: string): Promise<void>
  /** Whether that host is this machine. */
  readonly isLocal: boolean
}

/** Runs nft on this machine, which requires root. Source: nft(8). */
async function runLocally(argv: readonly string[], script: string): Promise<void> {
  // Its directory is only in root's PATH.
  const program = (await findProgram('nft')) ?? (await findProgram('/usr/sbin/nft'))
  if (program === undefined)
    throw new Error('nft is not installed (Debian, Ubuntu, Fedora: package nftables)')
  const { status, stderr } = await run(program, argv, { timeoutMs: TIMEOUT_MS, input: script })
  if (status !== 0) throw new Error(`nft: ${stderr.trim().split('\n')[0] ?? 'unknown error'}`)
}

/** Runs nft on this machine. */
export const localNft: Nft = Object.assign(runLocally, { isLocal: true })

/**
 * Keeps the rules of one guest bridge in force, in a separate table that other programs' rules cannot weaken.
 */
export class Firewall {
  readonly #table: string
  readonly #policy: NetworkPolicy
  readonly #nft: Nft
  readonly #allowed: AllowedNetworks
  #bridge: GuestBridge | undefined
  #inForce = ''
  #turn: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined

  /** @param table the table's name: letters, digits and `_`, unique on the host */
  constructor(table: string, policy: NetworkPolicy, nft: Nft = localNft) {
    this.#table = table
    this.#policy = policy
    this.#nft = nft
    this.#allowed = new AllowedNetworks(policy, () => void this.#check())
  }

  get bridge(): GuestBridge | undefined {
    return this.#bridge
  }

  /**
   * Puts the rules for a bridge into force before it resolves. If it rejects, earlier rules stay in force.
   */
  async protect(bridge: GuestBridge): Promise<void> {
    if (this.#timer === undefined) {
      await this.#allowed.start()
      this.#timer = setInterval(() => void this.#check(), CHECK_EVERY_MS)
      this.#timer.unref()
    }
    await this.#inTurn(async () => {
      const script = this.#scriptFor(bridge)
      await this.#nft(['-f', '-'], script)
      this.#bridge = bridge
      this.#inForce = script
    })
  }

  /** Removes the rules; nothing may be connected to the bridge any more. */
  async remove(): Promise<void> {
    this.close()
    await this.#inTurn(async () => {
      if (this.#bridge === undefined) return
      this.#bridge = undefined
      await this.#nft(['-f', '-'], removalOf(this.#table)).catch(() => undefined)
    })
  }

  /** Stops watching the rules but leaves them in force, because guests outlive the server. */
  close(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#allowed.stop()
  }

  #scriptFor(bridge: GuestBridge): string {
    return rulesetOf(this.#table, {
      bridge,
      policy: this.#policy,
      allowed: this.#allowed.all,
      outward: this.#nft.isLocal ? outwardInterfaces() : undefined,
      resolvers: readResolvers(),
    })
  }

  /** Reapplies the rules when the host's interfaces have changed or another program has removed them. */
  async #check(): Promise<void> {
    await this.#inTurn(async () => {
      if (this.#bridge === undefined) return
      const script = this.#scriptFor(this.#bridge)
      const isThere = await this.#nft(['list', 'chain', 'inet', this.#table, 'forward'], '').then(
        () => true,
        () => false,
      )
      if (isThere && script === this.#inForce) return
      await this.#nft(['-f', '-'], script)
      this.#inForce = script
    }).catch(() => undefined)
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => undefined)
    return done
  }
}

/** Returns why rules cannot be applied here, as a sentence with a remedy; undefined when they can. */
export async function firewallMissing(nft: Nft = localNft): Promise<string | undefined> {
  try {
    await nft(['list', 'tables'], '')
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}
