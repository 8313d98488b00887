import { ignore } from '../../lib/errors/ignore.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { KeyedLock } from '../../lib/process/keyed-lock.ts'
import { AllowedNetworks, soonStarted } from './allowed-networks.ts'
import { type NetworkHost, thisHost } from './network-host.ts'
import { outwardInterfaces } from './outward.ts'
import type { NetworkPolicy } from './policy.ts'
import { readResolvers } from './resolvers.ts'
import { type GuestBridge, removalOf, rulesetOf } from './ruleset.ts'

const CHECK_EVERY_MS = 10_000
/** Checks in a row that may fail, as on a busy host, before the guests are disconnected all the same. */
const MOST_FAILURES = 3
/** Another program, such as a restarted engine, may take a bridge up. */
const CUT_AGAIN_MS = 1_000
/** Networks that are checked together share what they read. */
const OUTWARD_VALID_MS = 1_000

/** Input of a Firewall. */
export interface FirewallParts {
  /** The table's name: letters, digits and `_`, unique on the host. */
  readonly table: string
  readonly policy: NetworkPolicy
  /** Receives the outcome of each check of the rules: an error, or undefined when they hold. */
  readonly onChecked: (error: unknown) => void
  /** Default: this machine. */
  readonly host?: NetworkHost
  /** Disconnects the guests in another way than by their bridge, if there is one. */
  readonly disconnect?: () => Promise<void>
}

/**
 * Keeps the rules of one guest bridge in force, in a separate table that other programs' rules cannot weaken. While the
 * rules cannot be applied, and it is not known that those of before hold, the bridge is down: its guests reach nothing.
 */
export class Firewall {
  readonly #parts: FirewallParts
  readonly #host: NetworkHost
  readonly #allowed: AllowedNetworks
  readonly #turns = new KeyedLock()
  #bridge: GuestBridge | undefined
  /** The rules in force, as they were written and as nft lists them. */
  #applied: { readonly script: string; readonly listed: string } | undefined
  /** Whether the bridge may be down because rules were missing, perhaps to an earlier server. */
  #isCut = true
  #failures = 0
  /** Resolves once names are resolved; another promise after each `close`. */
  #following: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #cutTimer: NodeJS.Timeout | undefined
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
    const following = this.#follow()
    await following
    await this.#turns.run('', async () => {
      if (this.#following !== following) throw new Error('the network is being removed')
      await this.#apply(bridge, this.#scriptFor(bridge))
      this.#bridge = bridge
      this.#parts.onChecked(await this.#connect(bridge))
    })
  }

  /**
   * Puts the rules for a bridge into force to which guests are connected, and tries again until they hold.
   */
  async restore(bridge: GuestBridge): Promise<void> {
    this.#bridge = bridge
    const following = this.#follow()
    // Rules without the addresses of names are better than none.
    if (this.#applied === undefined && !(await this.#hasRules(bridge))) await this.#check()
    await soonStarted(following)
    await this.#check()
  }

  /** Removes the rules; nothing may be connected to the bridge any more. */
  async remove(): Promise<void> {
    this.close()
    await this.#turns.run('', async () => {
      if (this.#bridge === undefined) return
      this.#bridge = undefined
      this.#applied = undefined
      this.#isCut = true
      const removal = this.#host.run('nft', ['-f', '-'], removalOf(this.#parts.table))
      await removal.catch(ignore('rules of a bridge that does not exist affect nothing'))
      this.#parts.onChecked(undefined)
    })
  }

  /** Stops watching the rules but leaves them in force, because guests outlive the server. */
  close(): void {
    clearInterval(this.#timer)
    clearInterval(this.#cutTimer)
    this.#cutTimer = undefined
    this.#unwatch?.()
    this.#following = undefined
    this.#allowed.stop()
  }

  /** Follows the addresses of names and the state of the rules. */
  #follow(): Promise<void> {
    if (this.#following === undefined) {
      let isChecking = false
      const check = async (): Promise<void> => {
        // A host that is slow is not given more to do.
        if (isChecking) return
        isChecking = true
        await this.#check()
        isChecking = false
      }
      this.#timer = setInterval(() => void check(), CHECK_EVERY_MS)
      this.#timer.unref()
      this.#unwatch = this.#host.onRulesChanged?.(this.#parts.table, () => void this.#check(true))
      this.#following = this.#allowed.start()
    }
    return this.#following
  }

  #scriptFor(bridge: GuestBridge): string {
    return rulesetOf(this.#parts.table, {
      bridge,
      policy: this.#parts.policy,
      allowed: this.#allowed.all,
      outward: this.#host.isLocal ? recentOutward() : undefined,
      resolvers: readResolvers(),
    })
  }

  async #apply(bridge: GuestBridge, script: string): Promise<void> {
    await this.#host.run('nft', ['-f', '-'], script)
    this.#applied = { script, listed: await this.#list(bridge) }
  }

  /** Returns the rules in force. Rejects when there are none. */
  async #list({ ports }: GuestBridge): Promise<string> {
    const list = (family: string) => this.#host.run('nft', ['list', 'table', family, this.#parts.table])
    const routed = await list('inet')
    return ports.length === 0 ? routed : `${routed}${await list('bridge')}`
  }

  #hasRules(bridge: GuestBridge): Promise<boolean> {
    return this.#list(bridge).then(
      () => true,
      () => false,
    )
  }

  /**
   * Reapplies the rules when the host's interfaces have changed, or another program has changed or removed the rules.
   *
   * @param isReported whether they were reported as changed
   */
  async #check(isReported = false): Promise<void> {
    await this.#turns.run('', async () => {
      const bridge = this.#bridge
      if (bridge === undefined) return
      try {
        const script = this.#scriptFor(bridge)
        if (!(await this.#holds(bridge, script))) await this.#apply(bridge, script)
        this.#failures = 0
      } catch (error) {
        this.#failures++
        const isOpen = await this.#isOpen(bridge, isReported)
        return this.#parts.onChecked(isOpen ? await this.#cutOff(bridge, error) : error)
      }
      this.#parts.onChecked(await this.#connect(bridge))
    })
  }

  /** Whether nothing needs to be applied. */
  async #holds(bridge: GuestBridge, script: string): Promise<boolean> {
    if (script !== this.#applied?.script) return false
    const listed = await this.#list(bridge).catch(ignore('they are applied again'))
    return listed === this.#applied.listed
  }

  /** Whether packets may pass that the rules do not allow. */
  async #isOpen(bridge: GuestBridge, isReported: boolean): Promise<boolean> {
    if (this.#applied === undefined || this.#failures >= MOST_FAILURES) return true
    try {
      return (await this.#list(bridge)) !== this.#applied.listed
    } catch (error) {
      return isReported || messageOf(error).includes('No such file or directory')
    }
  }

  /** Takes the bridge up if it may be down. Returns an error that explains why that is not possible. */
  async #connect({ name }: GuestBridge): Promise<Error | undefined> {
    if (!this.#isCut) return undefined
    try {
      await this.#host.run('ip', ['link', 'set', 'dev', name, 'up'])
    } catch (error) {
      // An engine that makes the bridge again takes it up.
      const isMissing = /can(?:not|'t) find device/i.test(messageOf(error))
      if (!isMissing)
        return new Error(`bridge ${name} cannot be taken up: ${messageOf(error)}`, { cause: error })
    }
    this.#isCut = false
    clearInterval(this.#cutTimer)
    this.#cutTimer = undefined
    return undefined
  }

  /** Disconnects the guests until the rules can be applied. Returns an error that explains it. */
  async #cutOff(bridge: GuestBridge, cause: unknown): Promise<Error> {
    this.#isCut = true
    try {
      await this.#takeDown(bridge).catch((error: unknown) => {
        if (this.#parts.disconnect === undefined) throw error
        return this.#parts.disconnect()
      })
      return new Error(`${messageOf(cause)}; the network is cut off until they can be applied`, { cause })
    } catch (error) {
      const why = `the network cannot be cut off either (${messageOf(error)}): stop its workspaces`
      return new Error(`${messageOf(cause)}; ${why}`, { cause })
    }
  }

  async #takeDown({ name }: GuestBridge): Promise<void> {
    const down = () => this.#host.run('ip', ['link', 'set', 'dev', name, 'down'])
    await down()
    // Where another machine's programs run in containers, only the checks repeat it.
    if (this.#host.onRulesChanged === undefined || this.#following === undefined) return
    this.#cutTimer ??= setInterval(() => {
      void this.#turns
        .run('', async () => void (this.#isCut && (await down())))
        .catch(ignore('the next check reports it'))
    }, CUT_AGAIN_MS).unref()
  }
}

let outward: { readonly atMs: number; readonly names: readonly string[] } | undefined

function recentOutward(): readonly string[] {
  const nowMs = performance.now()
  if (outward === undefined || nowMs - outward.atMs > OUTWARD_VALID_MS)
    outward = { atMs: nowMs, names: outwardInterfaces() }
  return outward.names
}
