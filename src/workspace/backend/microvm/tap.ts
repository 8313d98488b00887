import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { access, readFile, writeFile } from 'node:fs/promises'
import { findProgram } from '../../../lib/process/find-program.ts'
import { run } from '../../../lib/process/run.ts'
import { macOf, type NetworkPlan } from './network.ts'

const BRIDGE = 'wsvm0'
const NETWORK = '10.213.0.0/16'
const PREFIX_LENGTH = 16
const GATEWAY = '10.213.0.1'
/** 16 bits of address, less the network's own, the gateway's and the broadcast one. */
const ADDRESSES = 2 ** 16 - 3
/** Where machines of some clouds hand out credentials to whoever asks from them: never to a guest. */
const LINK_LOCAL = '169.254.0.0/16'
const RESOLVERS = ['/run/systemd/resolve/resolv.conf', '/etc/resolv.conf'] as const

/** Whether this process may make network devices, and has what it needs for it. */
export async function canTap(): Promise<boolean> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false
  const tun = await access('/dev/net/tun', constants.R_OK | constants.W_OK).then(
    () => true,
    () => false,
  )
  return tun && (await findProgram('ip')) !== undefined && (await findProgram('iptables')) !== undefined
}

/**
 * Makes a machine's network device, joined with a bridge that leads out by the host's address. The host reaches the machine by
 * its address; machines do not reach each other. Source: ip-link(8), iptables(8).
 *
 * @param user who may use the device, beside root
 */
export async function addTap(
  id: string,
  taken: ReadonlySet<string>,
  user?: number,
): Promise<Extract<NetworkPlan, { is: 'tap' }>> {
  await makeBridge()
  const device = deviceOf(id)
  await command(
    'ip',
    'tuntap',
    'add',
    'dev',
    device,
    'mode',
    'tap',
    ...(user === undefined ? [] : ['user', String(user)]),
  )
  await command('ip', 'link', 'set', device, 'master', BRIDGE, 'up')
  await command('ip', 'link', 'set', 'dev', device, 'type', 'bridge_slave', 'isolated', 'on')
  const address = addressOf(id, taken)
  return {
    is: 'tap',
    device,
    mac: macOf(id),
    address: { address, prefixLength: PREFIX_LENGTH, gateway: GATEWAY, nameServers: await nameServers() },
  }
}

/** Takes a machine's device away; rejects where there is none. */
export async function removeTap(id: string): Promise<void> {
  await command('ip', 'link', 'delete', 'dev', deviceOf(id))
}

async function makeBridge(): Promise<void> {
  const { status } = await run('ip', ['link', 'show', 'dev', BRIDGE])
  if (status !== 0) await command('ip', 'link', 'add', BRIDGE, 'type', 'bridge')
  await command('ip', 'address', 'replace', `${GATEWAY}/${PREFIX_LENGTH}`, 'dev', BRIDGE)
  await command('ip', 'link', 'set', BRIDGE, 'up')
  await writeFile('/proc/sys/net/ipv4/ip_forward', '1')
  await rule('-A', 'nat', 'POSTROUTING', '-s', NETWORK, '!', '-d', NETWORK, '-j', 'MASQUERADE')
  // Before what others forbid, such as a container engine; the last of these comes first.
  await rule(
    '-I',
    'filter',
    'FORWARD',
    '-o',
    BRIDGE,
    '-m',
    'conntrack',
    '--ctstate',
    'RELATED,ESTABLISHED',
    '-j',
    'ACCEPT',
  )
  await rule('-I', 'filter', 'FORWARD', '-i', BRIDGE, '-j', 'ACCEPT')
  await rule('-I', 'filter', 'FORWARD', '-i', BRIDGE, '-d', LINK_LOCAL, '-j', 'DROP')
}

/** Adds a rule unless it is there. */
async function rule(
  how: '-A' | '-I',
  table: string,
  chain: string,
  ...words: readonly string[]
): Promise<void> {
  const { status } = await run('iptables', ['-w', '-t', table, '-C', chain, ...words])
  if (status !== 0) await command('iptables', '-w', '-t', table, how, chain, ...words)
}

async function command(program: string, ...argv: readonly string[]): Promise<void> {
  const { status, stderr } = await run(program, argv, { timeoutMs: 10_000 })
  if (status !== 0) throw new Error(`${program} ${argv.join(' ')}: ${stderr.trim()}`)
}

/** At most 15 characters, as the kernel has it. */
function deviceOf(id: string): string {
  return `wst${id}`
}

/** The same at each start as long as no other machine has it. */
function addressOf(id: string, taken: ReadonlySet<string>): string {
  const first = createHash('sha256').update(id).digest().readUInt32BE(0)
  for (let i = 0; i < ADDRESSES; i++) {
    const number = 2 + ((first + i) % ADDRESSES)
    const address = `10.213.${number >> 8}.${number & 0xff}`
    if (!taken.has(address)) return address
  }
  throw new Error('every address is taken')
}

/** The host's own, as far as they can be reached from elsewhere. */
async function nameServers(): Promise<readonly string[]> {
  for (const file of RESOLVERS) {
    const text = await readFile(file, 'utf8').catch(() => '')
    const servers = [...text.matchAll(/^\s*nameserver\s+([\d.]+)\s*$/gm)].map(([, server = '']) => server)
    const reachable = servers.filter((server) => !server.startsWith('127.'))
    if (reachable.length > 0) return reachable
  }
  return []
}
