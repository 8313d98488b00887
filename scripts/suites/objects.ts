import { existsSync, globSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename } from 'node:path'
import { run } from '../../src/lib/process/run.ts'

/**
 * Objects that come with others: devices and tables that the engine makes for containers and networks, which are listed
 * themselves, and devices that a kernel module makes when it is loaded.
 */
const ACCOMPANYING =
  /^(network device (veth|br-|(ifb|dummy|tunl|sit|gre|gretap|erspan|ip6tnl|ip6gre|ip_vti|ip6_vti)\d)|nftables table ip6? (nat|filter|mangle|raw)$)/

/** Lists what does not end with the process that made it: a line for each object, which is the same every time. */
export async function listObjects(): Promise<readonly string[]> {
  const listed = await Promise.all([
    linesOf('docker', 'ps', '--all', '--format', 'container {{.Names}} of {{.Image}}: {{.Command}}'),
    linesOf('docker', 'volume', 'ls', '--format', 'volume {{.Name}}\t{{.Labels}}').then(inOrder),
    linesOf('docker', 'network', 'ls', '--format', 'network {{.Name}}\t{{.Labels}}').then(inOrder),
    linesOf('nft', 'list', 'tables').then((tables) => tables.map((table) => `nftables ${table}`)),
  ])
  const objects = [
    ...listed.flat(),
    ...mounts(),
    ...globSync('/sys/block/loop*').flatMap(loopDevice),
    ...globSync('/run/netns/*').map((path) => `network namespace ${basename(path)}`),
    ...globSync('/sys/class/net/*').map((path) => `network device ${basename(path)}`),
    // Sockets of virtual machines, for which the paths of other temporary directories may be too long.
    ...globSync('/tmp/vm-*').map((path) => `directory ${path}`),
    ...globSync('/sys/fs/cgroup/{,unified/}supervisor-*').map((path) => `control group ${path}`),
  ]
  return objects.filter((line) => !ACCOMPANYING.test(line))
}

/** Sorts the labels at the end of each line, which the engine prints in another order each time. */
function inOrder(lines: readonly string[]): readonly string[] {
  return lines.map((line) => {
    const [object = '', labels = ''] = line.split('\t')
    return `${object} ${labels.split(',').toSorted().join(',')}`
  })
}

/** Returns the lines that a command prints; none if it is not installed, its engine does not run, or only root may list. */
async function linesOf(command: string, ...argv: readonly string[]): Promise<readonly string[]> {
  try {
    const { status, stdout } = await run(command, argv)
    return status === 0 ? stdout.split('\n').filter((line) => line !== '') : []
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function loopDevice(path: string): readonly string[] {
  try {
    return [`loop device ${basename(path)} of ${readFileSync(`${path}/loop/backing_file`, 'utf8').trim()}`]
  } catch (error) {
    // It is, or is being, detached.
    if (['ENOENT', 'ENODEV'].includes((error as NodeJS.ErrnoException).code ?? '')) return []
    throw error
  }
}

/** Returns mount points in temporary directories with type and source, from proc_pid_mountinfo(5); none without /proc. */
function mounts(): readonly string[] {
  if (!existsSync('/proc/self/mountinfo')) return []
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').trim().split('\n')
  return lines.flatMap((line) => {
    const [fields = '', source = ''] = line.split(' - ')
    const [type, device] = source.split(' ')
    const point = fields.split(' ')[4] ?? ''
    return point.startsWith(`${tmpdir()}/`) ? [`mount ${point} of ${type} ${device}`] : []
  })
}
