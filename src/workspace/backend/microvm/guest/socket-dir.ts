import { lstatSync } from 'node:fs'
import { chmod, lstat, mkdir, readdir, rmdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { makeDirs } from '../../../../lib/fs/make-dirs.ts'
import { ignoreMissing } from '../../../../lib/fs/ignore-missing.ts'
import { fault } from '../../../errors.ts'
import { rulesFile } from '../network/filter-rules.ts'

/** What a socket's path may have, its end not counted: unix(7), and Apple's <sys/un.h>. */
const MAX_PATH_BYTES = process.platform === 'darwin' ? 103 : 107
/** Every name in a machine's directory, the longest that a driver or a guest's port makes among them. */
const LONGEST = 'vsock.sock_4294967295'
/** Where machines have their sockets: a short path, since a socket's may not be long (threat W2). */
export class SocketDirs {
  readonly #root: string

  constructor(root: string) {
    this.#root = root
  }

  pathOf(id: string): string {
    if (!/^[0-9a-f]{8}$/.test(id)) throw new Error(`${id} is no machine's`)
    return join(this.#root, id)
  }

  /** @throws BACKEND_ERROR where sockets could not be made, before anything of a machine is */
  check(): void {
    const longest = join(this.#root, '00000000', LONGEST)
    const bytes = Buffer.byteLength(longest)
    if (bytes <= MAX_PATH_BYTES) return
    throw fault(
      'BACKEND_ERROR',
      `${this.#root} is too long for sockets below it (${bytes} bytes, ${MAX_PATH_BYTES} are possible): set vm.run_dir to a shorter path`,
    )
  }

  /**
   * Makes a machine's directory, empty; a driver may put a link to another one in its place.
   *
   * @throws BACKEND_ERROR when its parent could be another user's
   */
  async make(id: string): Promise<string> {
    this.check()
    const path = this.pathOf(id)
    makeDirs(this.#root, 0o700)
    const parent = lstatSync(this.#root)
    if (!parent.isDirectory() || parent.uid !== process.getuid?.())
      throw fault(
        'BACKEND_ERROR',
        `${this.#root} is not a directory of this user: remove it, or set vm.run_dir`,
      )
    // Under root, machines have users of their own: those pass through to their own directory, and list nothing.
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
    // It leads into a jail, which goes as a whole.
    if (stat.isSymbolicLink()) return unlink(path)
    // Monitors make what they like there, and nobody else can: the directory is the server's user's or the monitor's own.
    for (const name of await readdir(path)) await unlink(join(path, name)).catch(ignoreMissing)
    await rmdir(path)
  }
}
