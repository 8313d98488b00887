import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { GuestFork, GuestSetting } from '../../src/lib/guest/protocol.ts'
import { findStarter } from '../../src/native/programs/starter.ts'
import { GuestFailure } from './failure.ts'
import { addToEnvironment, workspaceUser } from './image-config.ts'
import { run } from './run.ts'

const WORKSPACE_DIR = '/workspace'
const RUN_DIR = '/run/workspace'
const RESOLVER = '/etc/resolv.conf'

/** Configures this machine as the host requests. Idempotent. @throws GuestFailure */
export async function prepare(setting: GuestSetting): Promise<void> {
  const { hostname, clockMs, network, share, credentialsToken, fork } = setting
  if (fork !== undefined) await replaceIdentity(fork)
  setHostname(hostname)
  if (clockMs !== undefined) await setClock(clockMs)
  if (credentialsToken !== undefined) keepCredentialsToken(credentialsToken)
  if (network !== undefined) await setNetwork(network)
  if (share !== undefined) await mountShare(share)
  giveWorkspace()
}

/**
 * Passes the token to the credentials proxy, in its unit's environment, and to programs of the workspace's user, in a file that SDKs
 * read: a request that a page or server tricked one of them into sending does not contain it.
 */
function keepCredentialsToken(token: string): void {
  mkdirSync(RUN_DIR, { recursive: true, mode: 0o755 })
  writeFileSync(join(RUN_DIR, 'credentials.env'), `WORKSPACE_CREDENTIALS_TOKEN=${token}\n`, { mode: 0o600 })
  const file = join(RUN_DIR, 'credentials-token')
  writeFileSync(file, token, { mode: 0o400 })
  const { uid, gid } = workspaceUser()
  chownSync(file, uid, gid)
  addToEnvironment({ AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file })
}

/** Replaces what a machine has in common with the one whose memory it continues. */
async function replaceIdentity({ entropy, machineId, mac }: GuestFork): Promise<void> {
  // Mixed into the pool, from which the kernel then seeds its generator again.
  writeFileSync('/dev/urandom', Buffer.from(entropy, 'base64'))
  await start('NO_SEED', ['reseed'])
  if (existsSync('/etc/machine-id')) writeFileSync('/etc/machine-id', `${machineId}\n`)
  const device = findInterface(mac.from)
  if (device !== undefined) await start('NO_NETWORK', ['mac', device, mac.to])
}

/** Runs the native helper. @throws GuestFailure with this code when it fails */
async function start(code: string, argv: readonly string[]): Promise<void> {
  const { status, said } = await run(findStarter() ?? 'workspace-start', argv)
  if (status !== 0) throw new GuestFailure(code, said)
}

async function setClock(clockMs: number): Promise<void> {
  await start('NO_CLOCK', ['clock', String(clockMs)])
}

function setHostname(hostname: string): void {
  writeFileSync('/proc/sys/kernel/hostname', hostname)
  const hosts = existsSync('/etc/hosts') ? readFileSync('/etc/hosts', 'utf8') : '127.0.0.1 localhost\n'
  // sudo and others look up the address of the machine's host name.
  if (!hosts.split(/\s+/).includes(hostname)) writeFileSync('/etc/hosts', `${hosts}127.0.1.1 ${hostname}\n`)
}

async function setNetwork(network: NonNullable<GuestSetting['network']>): Promise<void> {
  const device = findInterface(network.mac) ?? (await loadedInterface(network.mac))
  if (device === undefined)
    throw new GuestFailure('NO_NETWORK', `network interface ${network.mac} does not exist`)
  const { address, prefixLength, gateway, nameServers } = network
  await start('NO_NETWORK', ['address', device, address, String(prefixLength), gateway])
  await run(findStarter() ?? 'workspace-start', ['address', 'lo', '127.0.0.1', '8', '-'])
  // Unchanged if the image or its user has set it.
  const isSet = existsSync(RESOLVER) && /^\s*nameserver\s/m.test(readFileSync(RESOLVER, 'utf8'))
  if (!isSet) writeFileSync(RESOLVER, nameServers.map((server) => `nameserver ${server}\n`).join(''))
}

async function loadedInterface(mac: string): Promise<string | undefined> {
  await run('modprobe', ['virtio_net'])
  return findInterface(mac)
}

function findInterface(mac: string): string | undefined {
  return readdirSync('/sys/class/net').find((name) => {
    try {
      return readFileSync(`/sys/class/net/${name}/address`, 'utf8').trim() === mac
    } catch {
      return false
    }
  })
}

/** Mounts the host's directory as the workspace and gives its owner's ids to the workspace's user. */
async function mountShare({ tag, uid, gid }: NonNullable<GuestSetting['share']>): Promise<void> {
  const user = workspaceUser()
  if (uid !== 0 && user.uid !== 0 && user.uid !== uid) {
    const script = ['/bin/sh', '-c', TAKE_NUMBERS, 'sh', user.name, String(uid), String(gid)] as const
    const { status, said } = await run(script[0], script.slice(1))
    if (status !== 0) throw new GuestFailure('NO_SHARE', said)
  }
  mkdirSync(WORKSPACE_DIR, { recursive: true })
  if (statSync(WORKSPACE_DIR).dev !== statSync('/').dev) return
  await run('modprobe', ['virtiofs'])
  const { status, said } = await run('mount', ['-t', 'virtiofs', tag, WORKSPACE_DIR])
  if (status !== 0) throw new GuestFailure('NO_SHARE', said)
}

/** Edits the files directly: usermod refuses while the user has a running process. */
const TAKE_NUMBERS = `
user=$1 uid=$2 gid=$3
group=$(id -gn "$user") home=$(eval echo ~"$user")
sed -i "s/^\\($group:[^:]*\\):[0-9]*:/\\1:$gid:/" /etc/group &&
  sed -i "s/^\\($user:[^:]*\\):[0-9]*:[0-9]*:/\\1:$uid:$gid:/" /etc/passwd &&
  chown -R "$uid:$gid" "$home"`

/** Creates the workspace directory if the image has none. */
function giveWorkspace(): void {
  if (existsSync(WORKSPACE_DIR)) return
  const { uid, gid } = workspaceUser()
  mkdirSync(WORKSPACE_DIR)
  chownSync(WORKSPACE_DIR, uid, gid)
}
