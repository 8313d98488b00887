/**
 * The red team: `npm run redteam -- [--core] [CHAPTER…]`. Boots a real container and real virtual machines in which the attacker has root, with an engine and
 * a server in network namespaces of this run, and runs a catalog of attacks against canaries. It prints one line per attack; the last
 * line is `N passed, N failed`, where an attack that reached something has failed. With --core it runs one attack per class, and all on
 * networks. Requires root.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { makeVmImages } from '../support/vm/vm-image.ts'
import { type Chapter, playAll } from './attack.ts'
import { CORE } from './core.ts'
import { createNamespaces, type Namespaces } from './network/namespaces.ts'

const INSIDE = 'REDTEAM_NAMESPACES'
/** Mounts the namespace's own interfaces in /sys; engines still find their control groups there. */
const ENTER = `set -e
groups=$(mktemp -d)
mount --rbind /sys/fs/cgroup "$groups"
mount -t sysfs sysfs /sys
mount --rbind "$groups" /sys/fs/cgroup
umount -l "$groups"
rmdir "$groups"
exec "$@"`
/** Limit for a run that hangs: every step is bounded, and their sum is much shorter. */
const MOST_MS = 25 * 60_000

if (process.env[INSIDE] === undefined) process.exitCode = await runOutside()
else await runInside(JSON.parse(process.env[INSIDE]) as Namespaces)

/** Runs this program again inside the host's namespace, whose only routes end at canaries. */
async function runOutside(): Promise<number> {
  if (process.getuid?.() !== 0) {
    console.error('redteam: requires root for network namespaces and a separate engine')
    return 2
  }
  // Images that machines boot from; cached between runs.
  await makeVmImages()
  const namespaces = createNamespaces()
  try {
    const child = spawn(
      'nsenter',
      [
        `--net=/run/netns/${namespaces.host}`,
        'unshare',
        '--mount',
        '--',
        'sh',
        '-c',
        ENTER,
        'sh',
        process.execPath,
        ...process.argv.slice(1),
      ],
      {
        stdio: ['ignore', 'inherit', 'inherit'],
        env: { ...process.env, [INSIDE]: JSON.stringify(namespaces) },
      },
    )
    const timer = setTimeout(() => child.kill('SIGKILL'), MOST_MS)
    const [status] = (await once(child, 'exit')) as [number | null]
    clearTimeout(timer)
    return status ?? 1
  } finally {
    namespaces.remove()
  }
}

async function runInside(namespaces: Namespaces): Promise<void> {
  const { chaptersInside } = await import('./chapters.ts')
  const options = new Set(process.argv.slice(2))
  const isCore = options.delete('--core')
  const chapters: readonly Chapter[] = chaptersInside(namespaces)
  const { played, reached } = await playAll(
    options.size === 0 ? chapters : chapters.filter(({ name }) => options.has(name)),
    isCore ? CORE : undefined,
  )
  console.log(`${played} attacks, ${reached} reached\n${played - reached} passed, ${reached} failed`)
  process.exit(reached === 0 ? 0 : 1)
}
