import { constants, existsSync } from 'node:fs'
import { chmod, copyFile, link, lstat, mkdir, readdir, rename, rm, rmdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { ignoreMissing } from '../../../../lib/fs/ignore-missing.ts'
import { canPassPipes } from '../../../../native/programs/pipe.ts'
import { findRunner, RUNNER } from '../../../../native/programs/runner.ts'

/** Mount point of the workspace's socket directory inside the workspace, read-only. */
export const MOUNT_POINT = '/run/workspace'

/** Cannot collide with a workspace name, which starts with a letter or a digit. */
const SHARED_RUNNER = `.${RUNNER}`

/** Searchable but not listable: a program must know an entry's name to open it. */
const DIRECTORY_MODE = 0o711

/**
 * Directories of this server, one per workspace and mounted into it. Their sockets connect programs inside
 * with this process. Workspaces cannot create, replace or remove anything in them, so that every entry is the
 * server's own.
 */
export class MountedSocketDirs {
  readonly root: string
  readonly #isOwner: boolean

  private constructor(root: string, isOwner: boolean) {
    this.root = root
    this.#isOwner = isOwner
  }

  /**
   * Opens the root as the server that owns the state directory: creates it, removes what an earlier process
   * left behind, and installs this version's runner.
   */
  static async own(root: string): Promise<MountedSocketDirs> {
    const dirs = new MountedSocketDirs(root, true)
    await mkdir(root, { recursive: true, mode: 0o700 })
    await removeEntries(root, (entry) => entry !== SHARED_RUNNER)
    await dirs.#renewRunner()
    for (const name of await dirs.#names()) {
      await removeEntries(join(root, name), (entry) => entry !== RUNNER)
      await dirs.#linkRunner(name)
    }
    return dirs
  }

  /** Opens the root as another process of that server. */
  static use(root: string): MountedSocketDirs {
    return new MountedSocketDirs(root, false)
  }

  pathOf(workspace: string): string {
    return join(this.root, workspace.toLowerCase())
  }

  /**
   * Returns whether a workspace has a directory with a runner. Called before every program, hence
   * synchronous.
   */
  has(workspace: string): boolean {
    return canPassPipes() && existsSync(join(this.pathOf(workspace), RUNNER))
  }

  /** Creates a workspace's directory unless it exists, and returns its path. */
  async create(workspace: string): Promise<string> {
    const path = this.pathOf(workspace)
    await mkdir(path, { mode: DIRECTORY_MODE }).catch(unless('EEXIST'))
    if (!(await lstat(path)).isDirectory()) throw new Error(`${path} is not a directory`)
    // mkdir applies the umask.
    await chmod(path, DIRECTORY_MODE)
    await this.#linkRunner(workspace.toLowerCase())
    return path
  }

  /**
   * Recreates the directory that a container mounts if it is missing, because the engine cannot start the
   * container without it. A directory of an earlier state directory stays empty, and programs run as if it
   * were not mounted.
   */
  async restore(workspace: string, mounted: string): Promise<void> {
    if (mounted === this.pathOf(workspace)) await this.create(workspace)
    else await mkdir(mounted, { recursive: true, mode: DIRECTORY_MODE })
  }

  /** Removes a workspace's directory if it exists. A directory with foreign entries is kept. */
  async remove(workspace: string): Promise<void> {
    const path = this.pathOf(workspace)
    await removeEntries(path, () => true)
    await rmdir(path).catch(unless('ENOENT', 'ENOTEMPTY', 'ENOTDIR'))
  }

  /** Removes the directories of workspaces that no longer exist. Only the owner does this. */
  async prune(list: () => Promise<readonly string[]>): Promise<void> {
    if (!this.#isOwner) return
    const existing = new Set((await list()).map((name) => name.toLowerCase()))
    for (const name of await this.#names()) if (!existing.has(name)) await this.remove(name)
  }

  async #names(): Promise<readonly string[]> {
    const entries = await readdir(this.root, { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  }

  async #renewRunner(): Promise<void> {
    const shared = join(this.root, SHARED_RUNNER)
    const runner = findRunner()
    if (runner === undefined) return rm(shared, { force: true })
    const next = `${shared}.next`
    // Never overwritten in place: running programs may be using the file.
    await rm(next, { force: true })
    await copyFile(runner, next, constants.COPYFILE_FICLONE)
    await rename(next, shared)
  }

  async #linkRunner(name: string): Promise<void> {
    const path = join(this.root, name, RUNNER)
    const next = `${path}.next`
    await unlink(next).catch(ignoreMissing)
    try {
      await link(join(this.root, SHARED_RUNNER), next)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      // No runner was built, and an older one would use an older protocol.
      return unlink(path).catch(ignoreMissing)
    }
    await rename(next, path)
    // Both names may be the same file; rename then does nothing and leaves both.
    await unlink(next).catch(ignoreMissing)
  }
}

/** Removes the non-directory entries of a directory, without following a link. */
async function removeEntries(directory: string, isWanted: (name: string) => boolean): Promise<void> {
  const found = await lstat(directory).catch(ignoreMissing)
  if (found?.isDirectory() !== true) return
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    if (!entry.isDirectory() && isWanted(entry.name))
      await unlink(join(directory, entry.name)).catch(ignoreMissing)
  }
}

function unless(...codes: readonly string[]): (error: NodeJS.ErrnoException) => undefined {
  return (error) => {
    if (!codes.includes(error.code ?? '')) throw error
    return undefined
  }
}
