import { chmod, chown, open, realpath, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ignoreMissing } from '../../../lib/fs/ignore-missing.ts'
import { makeDirs } from '../../../lib/fs/make-dirs.ts'
import { run } from '../../../lib/process/run.ts'
import { sandboxed } from '../../../lib/sandbox/sandbox.ts'
import type { Machine } from '../microvm/driver.ts'

const DEVICES = 'devices'

/** The command that starts QEMU for one VM. */
interface Enclosed {
  readonly program: string
  readonly argv: readonly string[]
}

/**
 * Returns a command that runs QEMU with access only to the files, sockets and devices of one VM: in mount,
 * network, IPC and UTS namespaces, without capabilities and, if the server is root, as a separate user.
 * Makes the VM's writable files that user's.
 *
 * @param root the backend's directory, in which device nodes are created
 * @param user UID that QEMU switches to; undefined when the server is not root
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
    // World-readable is safe: only the server's user can enter the parent directory.
    for (const path of readable) await chmod(path, 0o444)
  }
  const program = await realpath(binary)
  const [first, ...rest] = sandboxed(program, argv, {
    readable: [...readable, ...(program.startsWith('/usr/') ? [] : [dirname(dirname(program))])],
    writable,
    devices: (await Promise.all(devices.map((name) => device(root, name, user)))).filter(
      (each) => each !== undefined,
    ),
    // A tap device belongs to the network namespace in which it was created.
    network: network.is === 'tap' ? 'host' : 'none',
    ...(user !== undefined && { user }),
  })
  return { program: first, argv: rest }
}

/**
 * Returns a host device that a VM's user can open: a separate node below the root, which only the server can
 * reach. Undefined when the host does not have the device.
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
  // Linux's encoding of device numbers. Source: makedev(3).
  const major = (original.rdev >>> 8) & 0xfff
  const minor = (original.rdev & 0xff) | ((original.rdev >>> 12) & 0xfff00)
  const { status, stderr } = await run('mknod', ['--mode=0666', source, 'c', String(major), String(minor)])
  if (status !== 0) throw new Error(`mknod ${source}: ${stderr.trim()}`)
  return { source, path }
}
