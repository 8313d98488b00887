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

/** Where jails are below the root, and what a jail calls its own sockets' directory, which the jailer makes itself. */
const JAILS = 'jail'
const RUN = 'run'
const PATHS: MachinePaths = {
  kernel: '/kernel',
  initrd: '/initrd',
  lower: '/lower.ext4',
  upper: '/upper.ext4',
  socketDir: `/${RUN}`,
}

/** How a machine's monitor is started, and the paths by which it finds the machine's files. */
export interface MonitorCommand {
  readonly program: string
  readonly argv: readonly string[]
  readonly paths: MachinePaths
}

export interface FirecrackerJailsOptions {
  /** Where images and disks are as well: a jail has them by hard links. */
  readonly root: string
  /** Path of Firecracker: the jailer copies it into each jail, and names a directory of them after it. */
  readonly binary: string
  readonly jailer: string
}

/**
 * Jails of Firecracker's own jailer: each machine's monitor sees its directory as the whole file system, is a user of its own
 * there, and has the files of its machine alone. Source: Firecracker's docs/jailer.md.
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
   * Makes a machine's jail, of which nothing may be left from before, and puts its sockets' directory into it.
   *
   * @throws BACKEND_ERROR
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
      // All may read them, but nobody else gets at them: the directory they are in is the server's user's alone.
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
      throw fault('BACKEND_ERROR', `the machine's jail ${inside} cannot be made: ${messageOf(error)}`, error)
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
