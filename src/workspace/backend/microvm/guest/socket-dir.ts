import { lstatSync } from 'node:fs'
import { chmod, lstat, mkdir, readdir, rmdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { makeDirs } from '../../../../lib/fs/make-dirs.ts'
import { ignoreMissing } from '../../../../lib/fs/ignore-missing.ts'
import { fault } from '../../../errors.ts'
import { rulesFile } from '../network/filter-rules.ts'

/** Maximum length of a socket's path without its terminator: unix(7), and Apple's <sys/un.h>. */
const MAX_PATH_BYTES = process.platform === 'darwin' ? 103 : 107
/** The longest name in a VM's directory, considering those of drivers and guest ports. */
const LONGEST = 'vsock.sock_4294967295'
/** Socket directories of VMs: under a short path, because a socket's path is limited (threat W2). */
export class SocketDirs {
  readonly #root: string

  constructor(root: string) {
    this.#root = root
  }

  pathOf(id: string): string {
    if (!/^[0-9a-f]{8}$/.test(id)) throw new Error(`${id} is not a VM's id`)
    return join(this.#root, id)
  }

  /**
   * Checks the path length before anything of a VM is created.
   *
   * @throws BACKEND_ERROR when sockets could not be created
   */
  check(): void {
    const longest = join(this.#root, '00000000', LONGEST)
    const bytes = Buffer.byteLength(longest)
    if (bytes <= MAX_PATH_BYTES) return
    throw fault(
      'BACKEND_ERROR',
      `${this.#root} is too long for socket paths (${bytes} bytes; the limit is ${MAX_PATH_BYTES}); set vm.run_dir to a shorter path`,
    )
  }

  /**
   * Creates an empty directory for a VM; a driver may replace it with a link to another.
   *
   * @throws BACKEND_ERROR when its parent could belong to another user
   */
  async create(id: string): Promise<string> {
    this.check()
    const path = this.pathOf(id)
    makeDirs(this.#root, 0o700)
    const parent = lstatSync(this.#root)
    if (!parent.isDirectory() || parent.uid !== process.getuid?.())
      throw fault(
        'BACKEND_ERROR',
        `${this.#root} is not a directory owned by this user; remove it, or set vm.run_dir`,
      )
    // When the server is root, monitors have separate users: those may enter their own directory but list
    // nothing.
    await chmod(this.#root, parent.uid === 0 ? 0o711 : 0o700)
    await this.remove(id)
    await mkdir(path, { mode: 0o700 })
    return path
  }

  async remove(id: string): Promise<void> {
    const path = this.pathOf(id)
    await unlink(rulesFile(path)).catch(ignoreMissing)
    const stat = await lstat(path).catch(ignoreMissing)
    if (stat === undefined) return
    // The link points into a jail, which is removed as a whole.
    if (stat.isSymbolicLink()) return unlink(path)
    // A monitor may create any file there, and nobody else can: the directory belongs to the server's user or
    // the monitor's.
    for (const name of await readdir(path)) await unlink(join(path, name)).catch(ignoreMissing)
    await rmdir(path)
  }
}
