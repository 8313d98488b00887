import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { filterRules } from '../../../src/workspace/backend/microvm/network/filter-rules.ts'
import { rulesetOf } from '../../../src/workspace/network/ruleset.ts'
import type { NetworkPolicy } from '../../../src/workspace/network/policy.ts'
import { ADDRESSES, createNamespaces } from '../../redteam/network/namespaces.ts'
import { startFilter } from './net-filter.ts'

/** A guest of one network kind in a separate namespace, whose host and surroundings are the red team's. */
export interface NetworkGuest {
  /** Returns the targets `NAME tcp|udp ADDRESS PORT` that answer. */
  readonly reach: (targets: readonly string[]) => Promise<ReadonlySet<string>>
  /**
   * Opens a connection to a canary and returns a function that checks whether it still gets an answer within
   * a second.
   */
  readonly hold: (address: string) => Promise<() => Promise<boolean>>
  readonly gateway: string
  readonly resolver: string
  readonly apply: (policy: NetworkPolicy, allowed: readonly string[]) => Promise<void>
  readonly remove: () => void
}

/** Mechanisms that filter the network of a guest. */
export const KINDS = ['nftables', 'frame filter'] as const
const MAC = '06:00:00:00:00:01'
/** `Rules::LOOK_EVERY` in `native/net-filter/relay.h`. */
const LOOK_EVERY_MS = 500
const directory = import.meta.dirname
const probe = join(directory, '../../redteam/network/guest/probe.pl')

/** Connects, and after each line of input reports whether the other side still answers. */
const HELD = `
import os, socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 5)
s.recv(99)
os.write(1, b'ready')
s.settimeout(1)
for _ in sys.stdin:
    try:
        s.sendall(b'more')
        os.write(1, b'answered' if s.recv(99) else b'closed')
    except OSError:
        os.write(1, b'silent')
`

/** @param port where canaries listen on the host, on loopback and beyond */
export async function createGuest(kind: (typeof KINDS)[number], port: number): Promise<NetworkGuest> {
  const namespaces = createNamespaces()
  const { host, beyond } = namespaces
  const guest = `${host}g`
  const folder = mkdtempSync(join(tmpdir(), 'network-guest-'))
  const children: ChildProcess[] = []
  const resolverFolder = join('/etc/netns', host)
  const remove = (): void => {
    for (const child of children) child.kill('SIGKILL')
    for (const path of [folder, resolverFolder]) rmSync(path, { recursive: true, force: true })
    execFileSync('sh', ['-c', 'ip netns delete "$1" 2>/dev/null || true', 'sh', guest])
    namespaces.remove()
  }
  const ip = (...argv: readonly string[]) =>
    execFileSync('ip', argv, { stdio: ['ignore', 'pipe', 'inherit'] })
  /** Starts a program in a namespace and waits until it reports that it is ready. */
  const start = async (namespace: string, argv: readonly string[]) => {
    const child = spawn('ip', ['netns', 'exec', namespace, ...argv], { stdio: ['pipe', 'pipe', 'inherit'] })
    children.push(child)
    await once(child.stdout, 'data')
    return child
  }
  try {
    const canary = join(directory, '../../redteam/network/canary.ts')
    // One per address beyond the host, so that answers come from the requested address.
    for (const [namespace, address] of [
      [host, '::'],
      ...[ADDRESSES.internet, ADDRESSES.lan, ADDRESSES.uplink, ADDRESSES.metadata].map((each) => [
        beyond,
        each,
      ]),
    ] as const)
      await start(namespace ?? '', [process.execPath, canary, 'canary', address ?? '', String(port)])
    // The host's own resolver listens only on its loopback interface.
    mkdirSync(resolverFolder, { recursive: true })
    writeFileSync(join(resolverFolder, 'resolv.conf'), 'nameserver 127.0.0.53\n')
    await start(host, [process.execPath, canary, 'resolver', '127.0.0.53', '53'])
    ip('netns', 'add', guest)
    ip('-n', guest, 'link', 'set', 'lo', 'up')
    const parts = { host, guest, folder, start, ip }
    const network = kind === 'nftables' ? bridged(parts) : filtered(parts)
    return {
      ...network,
      remove,
      reach: (targets) => reach(guest, targets),
      hold: async (address) => {
        const { stdin, stdout } = await start(guest, ['python3', '-c', HELD, address, String(port)])
        return async () => {
          stdin.write('\n')
          const [answer] = (await once(stdout, 'data')) as [Buffer]
          return answer.toString() === 'answered'
        }
      },
    }
  } catch (error) {
    remove()
    throw error
  }
}

interface Parts {
  readonly host: string
  readonly guest: string
  readonly folder: string
  readonly start: (namespace: string, argv: readonly string[]) => Promise<ChildProcess>
  readonly ip: (...argv: readonly string[]) => unknown
}

/** A guest on a bridge with our rules, like tap devices and containers. */
function bridged({ host, guest, ip }: Parts): Pick<NetworkGuest, 'gateway' | 'resolver' | 'apply'> {
  const gateway = '10.213.0.1'
  ip('-n', host, 'link', 'add', 'wsvmtest', 'type', 'bridge')
  ip('-n', host, 'address', 'add', `${gateway}/20`, 'dev', 'wsvmtest')
  ip('-n', host, 'link', 'set', 'wsvmtest', 'up')
  ip('link', 'add', 'wst1', 'netns', host, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', guest)
  ip('-n', host, 'link', 'set', 'wst1', 'master', 'wsvmtest', 'up')
  ip('-n', guest, 'link', 'set', 'eth0', 'address', MAC, 'up')
  ip('-n', guest, 'address', 'add', '10.213.0.9/20', 'dev', 'eth0')
  ip('-n', guest, 'route', 'add', 'default', 'via', gateway)
  const sysctl =
    'echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv4/conf/wsvmtest/route_localnet'
  execFileSync('ip', ['netns', 'exec', host, 'sh', '-c', sysctl])
  return {
    gateway,
    resolver: gateway,
    apply: (policy, allowed) => {
      const ports = [{ device: 'wst1', mac: MAC, address: '10.213.0.9' }]
      const script = rulesetOf('workspace_test', {
        bridge: { name: 'wsvmtest', subnet: '10.213.0.0/20', gateway, ports, isTranslated: false },
        policy,
        allowed,
        outward: ['up0'],
        resolvers: { reachable: [], local: '127.0.0.53' },
      })
      execFileSync('ip', ['netns', 'exec', host, '/usr/sbin/nft', '-f', '-'], { input: script })
      return Promise.resolve()
    },
  }
}

/** A guest whose frames pass through the filter and passt. */
function filtered({
  host,
  guest,
  folder,
  start,
}: Parts): Pick<NetworkGuest, 'gateway' | 'resolver' | 'apply'> {
  const [socket, rules] = [join(folder, 'net.sock'), join(folder, 'rules')]
  let isConnected = false
  return {
    gateway: '10.0.2.2',
    resolver: '10.0.2.3',
    async apply(policy, allowed) {
      writeFileSync(`${rules}.new`, filterRules(policy, allowed))
      execFileSync('mv', [`${rules}.new`, rules])
      if (isConnected) {
        // A frame that arrives this long after the last check makes the filter reread its rules.
        await delay(LOOK_EVERY_MS + 100)
        return
      }
      await startFilter({ namespace: host, socket, rules, mac: MAC, start })
      await start(guest, [
        'python3',
        join(directory, 'tap-guest.py'),
        socket,
        MAC,
        '10.0.2.15/24',
        '10.0.2.2',
      ])
      isConnected = true
    },
  }
}

async function reach(guest: string, targets: readonly string[]): Promise<ReadonlySet<string>> {
  const child = spawn('ip', ['netns', 'exec', guest, 'perl', probe], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, PROBE_WAIT: '1.2' },
  })
  const lines = targets.map((target) => {
    const [name, kind, address, port] = target.split(' ')
    return `${kind} ${name} ${address} ${port}\n`
  })
  child.stdin.end(lines.join(''))
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
  await once(child, 'close')
  return new Set(
    output
      .split('\n')
      .filter((line) => / (?:connected|answered)$/.test(line))
      .map((line) => line.split(' ')[0] ?? ''),
  )
}

export { ADDRESSES }
