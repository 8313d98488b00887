import { chmod, chown, link, mkdir, rmdir, symlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { messageOf } from '../../../lib/errors/message.ts'
import { ignoreMissing } from '../../../lib/fs/ignore-missing.ts'
import { discard } from '../../../lib/fs/trash.ts'
import { findProgram } from '../../../lib/process/find-program.ts'
import { fault } from '../../errors.ts'
import type { Jails, Machine } from '../microvm/driver.ts'
import { machineUser } from '../microvm/monitor/machine-user.ts'
import type { MachinePaths } from './requests.ts'

/**
 * Directory of the jails below the root, and the name of the sockets' directory inside a jail, which the
 * jailer creates itself.
 */
const JAILS = 'jail'
const RUN = 'run'
const PATHS: MachinePaths = {
  kernel: '/kernel',
  initrd: '/initrd',
  lower: '/lower.ext4',
  upper: '/upper.ext4',
  socketDir: `/${RUN}`,
}

/** The command that starts a VM's monitor, and the paths at which the monitor finds the VM's files. */
export interface MonitorCommand {
  readonly program: string
  readonly argv: readonly string[]
  readonly paths: MachinePaths
}

/** Options of FirecrackerJails. */
export interface FirecrackerJailsOptions {
  /** Also the directory of images and disks: a jail contains them as hard links. */
  readonly root: string
  /** Path of Firecracker: the jailer copies it into each jail and names their parent directory after it. */
  readonly binary: string
  readonly jailer: string
}

/**
 * Jails created by Firecracker's jailer. Each VM's monitor sees its directory as the whole file system, runs
 * as a separate user, and has only the files of that VM. Source: Firecracker's docs/jailer.md.
 */
export class FirecrackerJails implements Jails {
  readonly #options: FirecrackerJailsOptions

  constructor(options: FirecrackerJailsOptions) {
    this.#options = options
  }

  async remove(id: string): Promise<void> {
    const { root, binary } = this.#options
    await discard({ root, parent: join(JAILS, basename(binary)) }, id).catch(ignoreMissing)
  }

  /**
   * Creates a VM's jail, of which no remains may exist, and moves its socket directory into it.
   *
   * @throws BACKEND_ERROR when the jail cannot be created
   */
  async enclose(machine: Machine, argvAt: (directory: string) => readonly string[]): Promise<MonitorCommand> {
    const { id, image, upper, socketDir } = machine
    const { root, binary, jailer } = this.#options
    const base = join(root, JAILS)
    const inside = join(base, basename(binary), id, 'root')
    const user = machineUser(id)
    try {
      await mkdir(base, { recursive: true, mode: 0o700 })
      await mkdir(join(inside, RUN), { recursive: true, mode: 0o700 })
      // World-readable files are safe: only the server's user can enter the directory that contains them.
      for (const [shared, path] of [
        [image.kernel, PATHS.kernel],
        [image.initrd, PATHS.initrd],
        [image.rootfs, PATHS.lower],
      ] as const) {
        await link(shared, join(inside, path))
        await chmod(shared, 0o444)
      }
      await link(upper, join(inside, PATHS.upper))
      await chown(upper, user, user)
      await rmdir(socketDir)
      await symlink(join(inside, RUN), socketDir)
    } catch (error) {
      throw fault('BACKEND_ERROR', `the VM's jail ${inside} cannot be created: ${messageOf(error)}`, error)
    }
    const program = await findProgram(binary)
    const words = ['--id', id, '--exec-file', program ?? binary, '--uid', String(user), '--gid', String(user)]
    return {
      program: jailer,
      argv: [
        ...words,
        '--chroot-base-dir',
        base,
        '--resource-limit',
        'no-file=2048',
        '--',
        ...argvAt(PATHS.socketDir),
      ],
      paths: PATHS,
    }
  }
}
