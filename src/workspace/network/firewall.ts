import { ignore } from '../../lib/errors/ignore.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { AllowedNetworks } from './allowed-networks.ts'
import { type NetworkHost, thisHost } from './network-host.ts'
import { outwardInterfaces } from './outward.ts'
import type { NetworkPolicy } from './policy.ts'
import { readResolvers } from './resolvers.ts'
import { type GuestBridge, removalOf, rulesetOf } from './ruleset.ts'

const CHECK_EVERY_MS = 10_000
/** Checks in a row that may fail, as on a busy host, before rules that were in force and cannot be read count as missing. */
const MOST_UNREADABLE = 3

/** Receives the outcome of each check of the rules: an error, or undefined when they hold. */
type OnChecked = (error: unknown) => void

/** Input of a Firewall. */
export interface FirewallParts {
  /** The table's name: letters, digits and `_`, unique on the host. */
  readonly table: string
  readonly policy: NetworkPolicy
  readonly onChecked: OnChecked
  /** Default: this machine. */
  readonly host?: NetworkHost
  /** Disconnects the guests in another way than by their bridge, if there is one. */
  readonly disconnect?: () => Promise<void>
}

/**
 * Keeps the rules of one guest bridge in force, in a separate table that other programs' rules cannot weaken. While the
 * rules cannot be applied and none are in force, the bridge is down: its guests reach nothing.
 */
export class Firewall {
  readonly #parts: FirewallParts
  readonly #host: NetworkHost
  readonly #allowed: AllowedNetworks
  #bridge: GuestBridge | undefined
  /** The rules in force, as they were written and as nft lists them. */
  #applied: { readonly script: string; readonly listed: string } | undefined
  /** Whether the bridge may be down because its rules were missing. */
  #isCut = false
  #failures = 0
  #turn: Promise<void> = Promise.resolve()
  #following: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #unwatch: (() => void) | undefined

  constructor(parts: FirewallParts) {
    this.#parts = parts
    this.#host = parts.host ?? thisHost
    this.#allowed = new AllowedNetworks(parts.policy, () => void this.#check())
  }

  get bridge(): GuestBridge | undefined {
    return this.#bridge
  }

  /**
   * Puts the rules for a bridge into force before it resolves. If it rejects, earlier rules stay in force.
   */
  async protect(bridge: GuestBridge): Promise<void> {
    await this.#follow()
    await this.#inTurn(() => this.#apply(bridge, this.#scriptFor(bridge)))
  }

  /**
   * Puts the rules for a bridge into force to which guests are connected, and tries again until they hold. Returns
   * whether they do.
   */
  async restore(bridge: GuestBridge): Promise<boolean> {
    await this.#follow()
    // An earlier server may have left it down.
    if (this.#bridge === undefined) this.#isCut = true
    this.#bridge = bridge
    return this.#check()
  }

  /** Removes the rules; nothing may be connected to the bridge any more. */
  async remove(): Promise<void> {
    this.close()
    await this.#inTurn(async () => {
      if (this.#bridge === undefined) return
      this.#bridge = undefined
      this.#applied = undefined
      const removal = this.#host.run('nft', ['-f', '-'], removalOf(this.#parts.table))
      await removal.catch(ignore('rules of a bridge that does not exist affect nothing'))
      this.#parts.onChecked(undefined)
    })
  }

  /** Stops watching the rules but leaves them in force, because guests outlive the server. */
  close(): void {
    clearInterval(this.#timer)
    this.#unwatch?.()
    this.#following = undefined
    this.#allowed.stop()
  }

  /** Follows the addresses of names and the state of the rules; resolves once the names are resolved. */
  #follow(): Promise<void> {
    if (this.#following === undefined) {
      this.#timer = setInterval(() => void this.#check(), CHECK_EVERY_MS)
      this.#timer.unref()
      this.#unwatch = this.#host.onRulesRemoved?.(this.#parts.table, () => void this.#check())
      this.#following = this.#allowed.start()
    }
    return this.#following
  }

  #scriptFor(bridge: GuestBridge): string {
    return rulesetOf(this.#parts.table, {
      bridge,
      policy: this.#parts.policy,
      allowed: this.#allowed.all,
      outward: this.#host.isLocal ? outwardInterfaces() : undefined,
      resolvers: readResolvers(),
    })
  }

  async #apply(bridge: GuestBridge, script: string): Promise<void> {
    await this.#host.run('nft', ['-f', '-'], script)
    this.#applied = { script, listed: await this.#list(bridge) }
    this.#bridge = bridge
    if (this.#isCut) await this.#host.run('ip', ['link', 'set', 'dev', bridge.name, 'up'])
    this.#isCut = false
    this.#parts.onChecked(undefined)
  }

  /** Returns the rules in force. Rejects when there are none. */
  async #list({ ports }: GuestBridge): Promise<string> {
    const list = (family: string) => this.#host.run('nft', ['list', 'table', family, this.#parts.table])
    const routed = await list('inet')
    return ports.length === 0 ? routed : `${routed}${await list('bridge')}`
  }

  /**
   * Reapplies the rules when the host's interfaces have changed, or another program has changed or removed the rules.
   * Returns whether they are in force.
   */
  async #check(): Promise<boolean> {
    let isInForce = true
    await this.#inTurn(async () => {
      const bridge = this.#bridge
      if (bridge === undefined) return
      try {
        const script = this.#scriptFor(bridge)
        if (await this.#holds(bridge, script)) this.#parts.onChecked(undefined)
        else await this.#apply(bridge, script)
        this.#failures = 0
      } catch (error) {
        isInForce = false
        this.#failures++
        this.#parts.onChecked((await this.#isOpen(bridge)) ? await this.#cutOff(bridge, error) : error)
      }
    })
    return isInForce
  }

  /** Whether nothing needs to be applied. */
  async #holds(bridge: GuestBridge, script: string): Promise<boolean> {
    if (this.#isCut || script !== this.#applied?.script) return false
    const listed = await this.#list(bridge).catch(ignore('they are applied again'))
    return listed === this.#applied.listed
  }

  /** Whether packets pass unfiltered: no rules are in force, or others than were applied. */
  async #isOpen(bridge: GuestBridge): Promise<boolean> {
    try {
      const listed = await this.#list(bridge)
      return this.#applied !== undefined && listed !== this.#applied.listed
    } catch (error) {
      const isMissing = messageOf(error).includes('No such file or directory')
      return isMissing || this.#applied === undefined || this.#failures >= MOST_UNREADABLE
    }
  }

  /** Disconnects the guests until the rules can be applied. Returns an error that explains it. */
  async #cutOff({ name }: GuestBridge, cause: unknown): Promise<Error> {
    this.#isCut = true
    try {
      await this.#host.run('ip', ['link', 'set', 'dev', name, 'down']).catch((error: unknown) => {
        if (this.#parts.disconnect === undefined) throw error
        return this.#parts.disconnect()
      })
      return new Error(`${messageOf(cause)}; the network is cut off until they can be applied`, { cause })
    } catch (error) {
      const why = `the network cannot be cut off either (${messageOf(error)}): stop its workspaces`
      return new Error(`${messageOf(cause)}; ${why}`, { cause })
    }
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(ignore('its caller awaits it'))
    return done
  }
}
