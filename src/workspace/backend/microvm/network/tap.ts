import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { access, writeFile } from 'node:fs/promises'
import { findProgram } from '../../../../lib/process/find-program.ts'
import { KeyedLock } from '../../../../lib/process/keyed-lock.ts'
import { run } from '../../../../lib/process/run.ts'
import { Firewall } from '../../../network/firewall.ts'
import { firewallMissing } from '../../../network/network-host.ts'
import type { NetworkPolicy } from '../../../network/policy.ts'
import { readResolvers } from '../../../network/resolvers.ts'
import type { BridgePort, GuestBridge } from '../../../network/ruleset.ts'
import { macOf, type NetworkPlan } from './network.ts'

const PREFIX_LENGTH = 20
/** Number of subnets of 10.213.0.0/16, one per backend and server on this host. */
const NETWORKS = 16
/** 12 bits of address, minus the network, gateway and broadcast addresses. */
const ADDRESSES = 2 ** (32 - PREFIX_LENGTH) - 3

/**
 * Returns what is missing for creating network devices, as a sentence with a remedy; undefined when nothing
 * is.
 */
export async function tapMissing(): Promise<string | undefined> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'tap devices require Linux and root'
  const hasTun = await access('/dev/net/tun', constants.R_OK | constants.W_OK).then(
    () => true,
    () => false,
  )
  if (!hasTun) return '/dev/net/tun cannot be opened; run modprobe tun'
  if ((await findProgram('ip')) === undefined) return 'ip is not installed (package iproute2)'
  return firewallMissing()
}

interface Bridge {
  readonly name: string
  readonly subnet: string
  readonly gateway: string
}

/**
 * Network devices of one backend's VMs, joined by a bridge that is routed through the host's address. The
 * host can reach a VM by its address. A VM can reach neither other VMs nor the host, and can send only from
 * its own MAC and IP address. Source: ip-link(8).
 */
export class Taps {
  readonly #name: string
  readonly #firewall: Firewall
  readonly #ports = new Map<string, BridgePort>()
  readonly #lock = new KeyedLock()

  /**
   * @param root the backend's directory, from which the bridge's name is derived
   * @param onChecked receives the outcome of each check of the rules
   */
  constructor(root: string, policy: NetworkPolicy, onChecked: (error: unknown) => void) {
    const key = createHash('sha256').update(root).digest('hex').slice(0, 6)
    this.#name = `wsvm${key}`
    this.#firewall = new Firewall({ table: `workspace_vm_${key}`, policy, onChecked })
  }

  /**
   * Creates a VM's device. Rejects with the command that failed.
   *
   * @param user a user that may use the device, in addition to root
   */
  async add(
    id: string,
    taken: ReadonlySet<string>,
    user: number | undefined,
  ): Promise<Extract<NetworkPlan, { is: 'tap' }>> {
    return this.#lock.run('', async () => {
      const bridge = await this.#openBridge()
      const device = deviceOf(id)
      const mac = macOf(id)
      const address = addressOf(bridge, id, taken)
      const asUser = user === undefined ? [] : ['user', String(user)]
      await command('ip', 'tuntap', 'add', 'dev', device, 'mode', 'tap', ...asUser)
      // The rules are in force before the device is connected to anything.
      await this.#firewall.protect(bridgeWith(bridge, [...this.#ports.values(), { device, mac, address }]))
      this.#ports.set(id, { device, mac, address })
      await command('ip', 'link', 'set', device, 'master', bridge.name, 'up')
      await command('ip', 'link', 'set', 'dev', device, 'type', 'bridge_slave', 'isolated', 'on')
      const { reachable, local } = readResolvers()
      const nameServers = reachable.length > 0 || local === undefined ? reachable : [bridge.gateway]
      return {
        is: 'tap',
        device,
        mac,
        address: { address, prefixLength: PREFIX_LENGTH, gateway: bridge.gateway, nameServers },
      }
    })
  }

  has(id: string): boolean {
    return this.#ports.has(id)
  }

  /** Attaches to the device of a VM that an earlier server started, and restores its rules until they hold. */
  async adopt(id: string, address: string): Promise<void> {
    await this.#lock.run('', async () => {
      this.#ports.set(id, { device: deviceOf(id), mac: macOf(id), address })
      await this.#firewall.restore(bridgeWith(await this.#openBridge(), [...this.#ports.values()]))
    })
  }

  /** Deletes a VM's device, and with the last one the bridge and its rules. */
  async remove(id: string): Promise<void> {
    await this.#lock.run('', async () => {
      await run('ip', ['link', 'delete', 'dev', deviceOf(id)])
      if (!this.#ports.delete(id)) return
      const { bridge } = this.#firewall
      if (bridge === undefined) return
      if (this.#ports.size > 0) {
        await this.#firewall.restore(bridgeWith(bridge, [...this.#ports.values()]))
        return
      }
      await this.#firewall.remove()
      await acceptForwarded(this.#name, '-D')
      await run('ip', ['link', 'delete', 'dev', this.#name])
    })
  }

  /** Stops watching the rules. Leaves the devices in place, because VMs outlive the server. */
  close(): void {
    this.#firewall.close()
  }

  async #openBridge(): Promise<Bridge> {
    const name = this.#name
    const existing = await addressesOfHost()
    const own = existing.find(({ device, address }) => device === name && address.startsWith('10.213.'))
    if (own !== undefined) return bridgeOf(name, Math.floor(Number(own.address.split('.')[2]) / 16))
    const first = Number.parseInt(name.slice(-2), 16)
    const taken = new Set(existing.map(({ address }) => networkKey(address)))
    for (let i = 0; i < NETWORKS; i++) {
      const bridge = bridgeOf(name, (first + i) % NETWORKS)
      if (taken.has(networkKey(bridge.gateway))) continue
      const { status } = await run('ip', ['link', 'show', 'dev', name])
      if (status !== 0) await command('ip', 'link', 'add', name, 'type', 'bridge')
      await command('ip', 'address', 'replace', `${bridge.gateway}/${PREFIX_LENGTH}`, 'dev', name)
      await command('ip', 'link', 'set', name, 'up')
      await writeFile('/proc/sys/net/ipv4/ip_forward', '1')
      // Only for DNS, as the rules ensure, which are evaluated first.
      if (readResolvers().local !== undefined)
        await writeFile(`/proc/sys/net/ipv4/conf/${name}/route_localnet`, '1')
      await acceptForwarded(name, '-I')
      return bridge
    }
    throw new Error('all networks of 10.213.0.0/16 are in use on this host')
  }
}

/**
 * Exempts a bridge from the rules of container engines and firewalls, which drop unknown traffic. Our own
 * rules have already dropped what guests must not send.
 */
async function acceptForwarded(bridge: string, how: '-I' | '-D'): Promise<void> {
  if ((await findProgram('iptables')) === undefined) return
  const rules = [
    ['-i', bridge, '-j', 'ACCEPT'],
    ['-o', bridge, '-m', 'conntrack', '--ctstate', 'RELATED,ESTABLISHED', '-j', 'ACCEPT'],
  ]
  for (const rule of rules) {
    const { status } = await run('iptables', ['-w', '-C', 'FORWARD', ...rule])
    if ((status === 0) === (how === '-D')) await command('iptables', '-w', how, 'FORWARD', ...rule)
  }
}

async function addressesOfHost(): Promise<readonly { readonly device: string; readonly address: string }[]> {
  const { stdout } = await run('ip', ['-4', '-o', 'address', 'show'])
  return [...stdout.matchAll(/^\d+:\s+(\S+)\s+inet\s+([\d.]+)/gm)].map(([, device = '', address = '']) => ({
    device,
    address,
  }))
}

/** Returns the first 20 bits of an address. */
function networkKey(address: string): string {
  const [a, b, c] = address.split('.')
  return `${a}.${b}.${Number(c) >> 4}`
}

function bridgeWith({ name, subnet, gateway }: Bridge, ports: readonly BridgePort[]): GuestBridge {
  return { name, subnet, gateway, ports, isTranslated: false }
}

function bridgeOf(name: string, network: number): Bridge {
  const base = `10.213.${network * 16}`
  return { name, subnet: `${base}.0/${PREFIX_LENGTH}`, gateway: `${base}.1` }
}

async function command(program: string, ...argv: readonly string[]): Promise<void> {
  const { status, stderr } = await run(program, argv, { timeoutMs: 10_000 })
  if (status !== 0) throw new Error(`${program} ${argv.join(' ')}: ${stderr.trim()}`)
}

/** Returns a VM's device name, which the kernel limits to 15 characters. */
function deviceOf(id: string): string {
  return `wst${id}`
}

/** Returns a VM's address, the same at every start unless another VM has taken it. */
function addressOf({ gateway }: Bridge, id: string, taken: ReadonlySet<string>): string {
  const base = Number(gateway.split('.')[2])
  const first = createHash('sha256').update(id).digest().readUInt32BE(0)
  for (let i = 0; i < ADDRESSES; i++) {
    const number = 2 + ((first + i) % ADDRESSES)
    const address = `10.213.${base + (number >> 8)}.${number & 0xff}`
    if (!taken.has(address)) return address
  }
  throw new Error('every address is in use')
}
