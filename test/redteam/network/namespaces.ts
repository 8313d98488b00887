import { execFileSync } from 'node:child_process'

/**
 * The attacked host's network, in namespaces of this run: the host itself, with an uplink to a namespace `beyond` that has an
 * internet address, a private address and the metadata address. There is no route out of them.
 *
 * Documentation and benchmarking ranges stand for the internet, because they are unassigned. Source: RFC 5737, RFC 2544.
 */
export const ADDRESSES = {
  host: '198.18.7.2',
  hostV6: 'fd07::2',
  uplink: '198.18.7.1',
  uplinkV6: 'fd07::1',
  /** A second address of the host. */
  second: '198.51.100.9',
  internet: '203.0.113.5',
  lan: '192.168.77.7',
  metadata: '169.254.169.254',
  foreignBridge: '172.30.0.1',
  foreign: '172.30.0.9',
} as const

export interface Namespaces {
  readonly host: string
  readonly beyond: string
  readonly foreign: string
  readonly remove: () => void
}

/** The environment variable that names the namespaces to programs inside the host's. */
export const ENTERED = 'REDTEAM_NAMESPACES'

/** Returns the namespaces of this run, in whose host this program runs. */
export function enteredNamespaces(): Pick<Namespaces, 'beyond' | 'foreign'> {
  const entered = process.env[ENTERED]
  if (entered === undefined) throw new Error('requires network namespaces: npm run redteam')
  return JSON.parse(entered) as Namespaces
}

const ip = (...argv: readonly string[]): void =>
  void execFileSync('ip', argv, { stdio: ['ignore', 'ignore', 'inherit'] })

let created = 0

/** Creates the namespaces. Requires root. */
export function createNamespaces(): Namespaces {
  const key = `rt${process.pid}n${created++}`
  const [host, beyond, foreign] = [`${key}h`, `${key}b`, `${key}f`] as const
  const remove = (): void => {
    for (const name of [host, beyond, foreign]) {
      try {
        execFileSync('ip', ['netns', 'delete', name], { stdio: 'ignore' })
      } catch {
        // It does not exist.
      }
    }
  }
  try {
    for (const name of [host, beyond, foreign]) {
      ip('netns', 'add', name)
      ip('-n', name, 'link', 'set', 'lo', 'up')
    }
    connect(host, 'up0', beyond, 'eth0')
    for (const address of [`${ADDRESSES.host}/24`, `${ADDRESSES.hostV6}/64`])
      ip('-n', host, 'addr', 'add', address, 'dev', 'up0', ...nodad(address))
    for (const address of [`${ADDRESSES.uplink}/24`, `${ADDRESSES.uplinkV6}/64`])
      ip('-n', beyond, 'addr', 'add', address, 'dev', 'eth0', ...nodad(address))
    ip('-n', host, 'route', 'add', 'default', 'via', ADDRESSES.uplink)
    ip('-n', host, '-6', 'route', 'add', 'default', 'via', ADDRESSES.uplinkV6)
    for (const address of [ADDRESSES.internet, ADDRESSES.lan, ADDRESSES.metadata])
      ip('-n', beyond, 'addr', 'add', `${address}/32`, 'dev', 'lo')
    // The metadata address is on the uplink, as in clouds.
    ip('-n', host, 'route', 'add', `${ADDRESSES.metadata}/32`, 'via', ADDRESSES.uplink)
    ip('-n', host, 'addr', 'add', `${ADDRESSES.second}/32`, 'dev', 'lo')
    // A bridge of another container engine.
    ip('-n', host, 'link', 'add', 'br-foreign', 'type', 'bridge')
    ip('-n', host, 'addr', 'add', `${ADDRESSES.foreignBridge}/24`, 'dev', 'br-foreign')
    ip('-n', host, 'link', 'set', 'br-foreign', 'up')
    connect(host, 'fo0', foreign, 'eth0')
    ip('-n', host, 'link', 'set', 'fo0', 'master', 'br-foreign')
    ip('-n', foreign, 'addr', 'add', `${ADDRESSES.foreign}/24`, 'dev', 'eth0')
    ip('-n', foreign, 'route', 'add', 'default', 'via', ADDRESSES.foreignBridge)
    return { host, beyond, foreign, remove }
  } catch (error) {
    remove()
    throw error
  }
}

function connect(a: string, deviceA: string, b: string, deviceB: string): void {
  ip('link', 'add', deviceA, 'netns', a, 'type', 'veth', 'peer', 'name', deviceB, 'netns', b)
  ip('-n', a, 'link', 'set', deviceA, 'up')
  ip('-n', b, 'link', 'set', deviceB, 'up')
}

function nodad(address: string): readonly string[] {
  return address.includes(':') ? ['nodad'] : []
}
