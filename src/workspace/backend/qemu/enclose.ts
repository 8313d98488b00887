import { chmod, chown, open, realpath, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ignoreMissing } from '../../../lib/fs/ignore-missing.ts'
import { makeDirs } from '../../../lib/fs/make-dirs.ts'
import { run } from '../../../lib/process/run.ts'
import { sandboxed } from '../../../lib/sandbox/sandbox.ts'
import type { Machine } from '../microvm/driver.ts'

const DEVICES = 'devices'

/** How QEMU is started for one machine. */
interface Enclosed {
  readonly program: string
  readonly argv: readonly string[]
}

/**
 * Returns the command that runs QEMU with the files, the sockets and the devices of one machine and nothing else of this host:
 * in mount, network, IPC and UTS namespaces, without capabilities and, where the server is root, as a user that nothing else is.
 * Gives that user what the machine writes to.
 *
 * @param root the backend's own directory, which gets its device nodes
 * @param user whom QEMU becomes; undefined where the server is not root
 */
export async function enclose(
  machine: Machine,
  {
    binary,
    argv,
    root,
    user,
  }: {
    readonly binary: string
    readonly argv: readonly string[]
    readonly root: string
    readonly user: number | undefined
  },
): Promise<Enclosed> {
  const { image, upper, consoleLog, socketDir, network } = machine
  await (await open(consoleLog, 'a', 0o600)).close()
  const readable = [image.kernel, image.initrd, image.rootfs]
  const writable = [upper, consoleLog, socketDir]
  const devices = network.is === 'tap' ? ['kvm', 'vhost-vsock', 'net/tun'] : ['kvm', 'vhost-vsock']
  if (user !== undefined) {
    for (const path of writable) await chown(path, user, user)
    // Nobody else gets at them: the directory above is the server's alone.
    for (const path of readable) await chmod(path, 0o444)
  }
  const program = await realpath(binary)
  const [first, ...rest] = sandboxed(program, argv, {
    readable: [...readable, ...(program.startsWith('/usr/') ? [] : [dirname(dirname(program))])],
    writable,
    devices: (await Promise.all(devices.map((name) => device(root, name, user)))).filter(
      (each) => each !== undefined,
    ),
    // A tap device belongs to the network namespace that it was made in.
    network: network.is === 'tap' ? 'host' : 'none',
    ...(user !== undefined && { user }),
  })
  return { program: first, argv: rest }
}

/**
 * Returns a device of this host's as a machine's user can open it: a node of its own below the root, which the server alone can reach.
 * Undefined where the host has no such device.
 */
async function device(
  root: string,
  name: string,
  user: number | undefined,
): Promise<{ readonly source: string; readonly path: string } | undefined> {
  const path = `/dev/${name}`
  const original = await stat(path).catch(ignoreMissing)
  if (original === undefined) return undefined
  if (user === undefined) return { source: path, path }
  const source = join(root, DEVICES, name.replace('/', '-'))
  const existing = await stat(source).catch(ignoreMissing)
  if (existing?.isCharacterDevice() === true && existing.rdev === original.rdev) return { source, path }
  makeDirs(dirname(source), 0o700)
  // Linux's own encoding of a device's numbers. Source: makedev(3).
  const major = (original.rdev >>> 8) & 0xfff
  const minor = (original.rdev & 0xff) | ((original.rdev >>> 12) & 0xfff00)
  const { status, stderr } = await run('mknod', ['--mode=0666', source, 'c', String(major), String(minor)])
  if (status !== 0) throw new Error(`mknod ${source}: ${stderr.trim()}`)
  return { source, path }
}
