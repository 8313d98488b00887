/**
 * The red team: `npm run redteam -- [--core] [CHAPTER…]`, where other arguments are vitest's. Boots a real container and
 * real virtual machines in which the attacker has root, with an engine and a server in network namespaces of this run,
 * and runs a catalog of attacks against canaries; each is a test. With --core it runs one attack per class, and all on
 * networks. Requires root.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createNamespaces, ENTERED } from './network/namespaces.ts'

/** Mounts the namespace's own interfaces in /sys; engines still find their control groups there. */
const ENTER = `set -e
groups=$(mktemp -d)
mount --rbind /sys/fs/cgroup "$groups"
mount -t sysfs sysfs /sys
mount --rbind "$groups" /sys/fs/cgroup
umount -l "$groups"
rmdir "$groups"
exec "$@"`
/** Limit for a run that hangs. Tests have limits, but a call that blocks its process has none. */
const MOST_MS = 60 * 60_000

if (process.getuid?.() !== 0) {
  console.error('redteam: requires root for network namespaces and a separate engine')
  process.exit(2)
}
const argv = process.argv.slice(2).map((each) => (each === '--core' ? '--tags-filter=!long' : each))
const namespaces = createNamespaces()
try {
  // Runs inside the host's namespace, whose only routes end at canaries.
  const enter = [`--net=/run/netns/${namespaces.host}`, 'unshare', '--mount', '--', 'sh', '-c', ENTER, 'sh']
  const child = spawn('nsenter', [...enter, 'vitest', 'run', '--project', 'redteam', ...argv], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, [ENTERED]: JSON.stringify(namespaces) },
    timeout: MOST_MS,
    killSignal: 'SIGKILL',
  })
  // A terminal's interrupt also reaches vitest, whose end this program awaits.
  process.on('SIGINT', () => undefined)
  process.on('SIGTERM', () => child.kill())
  const [status] = (await once(child, 'exit')) as [number | null]
  process.exitCode = status ?? 1
} finally {
  namespaces.remove()
}
