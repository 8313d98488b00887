import { createHash } from 'node:crypto'
import { messageOf } from '../../../../lib/errors/message.ts'
import { run } from '../../../../lib/process/run.ts'
import { ignore } from '../../../../lib/errors/ignore.ts'
import { fault } from '../../../errors.ts'
import { keyOfLimits } from '../../../network/narrow.ts'
import { Firewall } from '../../../network/firewall.ts'
import type { NetworkPolicy } from '../../../network/policy.ts'
import type { GuestBridge } from '../../../network/ruleset.ts'
import { APPLY_RULES, attempt, type Report, type Subject } from '../../trouble.ts'
import { CHANGE_DEADLINE_MS, type DockerEngine, engineStatus } from '../engine/engine.ts'
import { isOwn, labelsOfServer } from '../engine/labels.ts'
import { hostOf, type WithHelper } from './engine-host.ts'
import type { NetworkRecords, Subnet } from './network-records.ts'

const PREFIX_LENGTH = 22
/** Number of subnets of 10.214.0.0/16, one per server of an engine. */
const NETWORKS = 64
const ATTEMPTS = 16

/** Input of an isolated network. */
export interface NetworkParts {
  readonly serverId: string
  /** Distinguishes the server's networks; '' for the one that most containers join. */
  readonly key: string
  readonly policy: NetworkPolicy
  readonly helperImage: string
  readonly withHelper: WithHelper
  readonly report: Report
  readonly records: NetworkRecords
}

/**
 * A network of one server's containers: a dedicated bridge whose containers reach neither each other nor this
 * host. Its rules are in force before anything connects.
 */
export class IsolatedNetwork {
  readonly #engine: DockerEngine
  readonly #serverId: string
  readonly #suffix: string
  readonly #bridge: string
  readonly #firewall: Firewall
  readonly #record: (subnet: Subnet | undefined) => Promise<boolean>
  #ready: Promise<string> | undefined
  #mayExist = false

  constructor(engine: DockerEngine, parts: NetworkParts) {
    const { serverId, key, policy, helperImage, withHelper, report, records } = parts
    const id = createHash('sha256').update(`${serverId}${key}`).digest('hex').slice(0, 6)
    this.#engine = engine
    this.#serverId = serverId
    this.#suffix = key === '' ? '' : `-${id}`
    this.#bridge = `wsdk${id}`
    const subject: Subject = {
      name: `network ${this.name}`,
      concerns: ({ networkLimits, state }) => state.is === 'running' && keyOfLimits(networkLimits) === key,
    }
    this.#firewall = new Firewall({
      table: `workspace_docker_${id}`,
      policy,
      host: hostOf(engine, helperImage, withHelper),
      onChecked: (error) => report({ what: APPLY_RULES, error, subject }),
      disconnect: () => this.#disconnect(),
    })
    this.#record = (subnet) =>
      attempt(report, 'record a container network', () => records.set(key, subnet), subject)
  }

  /** The engine's name for the network. */
  get name(): string {
    return `workspace-${this.#serverId}${this.#suffix}`
  }

  /**
   * Creates the network unless it exists, and puts its rules into force. Returns its name.
   *
   * @throws BACKEND_ERROR when containers could not be isolated
   */
  open(): Promise<string> {
    this.#ready ??= this.#open().catch((error: unknown) => {
      this.#ready = undefined
      throw fault(
        'BACKEND_ERROR',
        `the container network cannot be isolated from this host (${messageOf(error)}); fix the cause, or set docker.network to a network that needs no isolation`,
        error,
      )
    })
    return this.#ready
  }

  /** Puts the rules of a network into force, and tries again until they hold: its containers may be running. */
  async restore(subnet: Subnet): Promise<void> {
    this.#mayExist = true
    await this.#firewall.restore(this.#bridgeAt(subnet))
  }

  /** Restores the rules if the engine has the network; else removes them. */
  async reopen(): Promise<void> {
    const subnet = await this.#find()
    if (subnet === undefined) return this.#forget()
    await this.#record(subnet)
    await this.restore(subnet)
  }

  /**
   * Connects a stopped container to this network only; an earlier version may have created it on the engine's
   * default network.
   */
  async adopt(containerId: string, networks: readonly string[]): Promise<void> {
    const name = await this.open()
    if (networks.length === 1 && networks[0] === name) return
    const { docker } = this.#engine
    for (const other of networks.filter((each) => each !== name)) {
      await this.#call('leaving a network', () =>
        docker.getNetwork(other).disconnect({ Container: containerId, Force: true }),
      )
    }
    if (networks.includes(name)) return
    await this.#call('joining the network', () => docker.getNetwork(name).connect({ Container: containerId }))
  }

  /** Stops watching the rules, which stay in force. */
  close(): void {
    this.#firewall.close()
  }

  /** Removes the network and its rules, unless a container still uses it. Returns whether they are removed. */
  async remove(): Promise<boolean> {
    if (!this.#mayExist) return true
    this.#ready = undefined
    const isRemoved = await this.#engine.docker
      .getNetwork(this.name)
      .remove()
      .then(
        () => true,
        () => false,
      )
    if (isRemoved) await this.#forget()
    return isRemoved
  }

  async #forget(): Promise<void> {
    this.#mayExist = false
    await this.#firewall.remove()
    await this.#record(undefined)
  }

  async #open(): Promise<string> {
    const subnet = (await this.#find()) ?? (await this.#create())
    this.#mayExist = true
    await this.#record(subnet)
    await this.#firewall.protect(this.#bridgeAt(subnet))
    return this.name
  }

  #bridgeAt(subnet: Subnet): GuestBridge {
    return { ...subnet, name: this.#bridge, ports: [], isTranslated: true }
  }

  /** Disconnects all containers; they are connected again when they start. */
  async #disconnect(): Promise<void> {
    const network = this.#engine.docker.getNetwork(this.name)
    const { Containers = {} } = (await this.#call('inspecting the network', () => network.inspect())) as {
      Containers?: Readonly<Record<string, unknown>>
    }
    for (const Container of Object.keys(Containers))
      await this.#call('leaving the network', () => network.disconnect({ Container, Force: true }))
  }

  async #find(): Promise<Subnet | undefined> {
    try {
      const report = await this.#call('inspecting the network', () =>
        this.#engine.docker.getNetwork(this.name).inspect(),
      )
      const { Labels, IPAM, Options } = report as {
        Labels?: Record<string, string>
        IPAM?: { Config?: readonly { Subnet?: string; Gateway?: string }[] }
        Options?: Record<string, string>
      }
      const { Subnet: subnet, Gateway: gateway } = IPAM?.Config?.[0] ?? {}
      const isBridge = Options?.['com.docker.network.bridge.name'] === this.#bridge
      if (!isOwn(Labels, this.#serverId) || !isBridge || subnet === undefined || gateway === undefined)
        throw new Error(`the engine has an unrelated network named ${this.name}; remove it`)
      return { subnet, gateway }
    } catch (error) {
      if (engineStatus(error) === 404) return undefined
      throw error
    }
  }

  async #create(): Promise<Subnet> {
    // Without this module, frames between containers would bypass the rules.
    if (process.getuid?.() === 0)
      await run('modprobe', ['br_netfilter']).catch(ignore('kernels without modules have it built in'))
    const first = Number.parseInt(this.#bridge.slice(-2), 16)
    for (let i = 0; ; i++) {
      const base = `10.214.${((first + i) % NETWORKS) * 4}`
      const subnet = { subnet: `${base}.0/${PREFIX_LENGTH}`, gateway: `${base}.1` }
      try {
        await this.#call('creating the network', () =>
          this.#engine.docker.createNetwork({
            Name: this.name,
            Driver: 'bridge',
            Labels: { ...labelsOfServer(this.#serverId) },
            IPAM: { Config: [{ Subnet: subnet.subnet, Gateway: subnet.gateway }] },
            Options: {
              'com.docker.network.bridge.name': this.#bridge,
              'com.docker.network.bridge.enable_icc': 'false',
            },
          }),
        )
        return subnet
      } catch (error) {
        // Another network of this host uses the addresses.
        if (i >= ATTEMPTS || !/overlap/i.test(messageOf(error))) throw error
      }
    }
  }

  #call<T>(what: string, work: () => Promise<T>): Promise<T> {
    return this.#engine.call(what, work, { deadlineMs: CHANGE_DEADLINE_MS })
  }
}
