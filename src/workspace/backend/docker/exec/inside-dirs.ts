import { constants, existsSync } from 'node:fs'
import { chmod, copyFile, link, lstat, mkdir, readdir, rename, rm, rmdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { ignoreMissing } from '../../../../lib/fs/ignore-missing.ts'
import { canPassPipes } from '../../../../native/programs/pipe.ts'
import { findRunner, RUNNER } from '../../../../native/programs/runner.ts'

/** Where a workspace's directory stands inside it, to be read alone. */
export const INSIDE = '/run/workspace'

/** Not a workspace's name, which begins with a letter or a digit. */
const SHARED_RUNNER = `.${RUNNER}`

/** Whoever knows a name in it may open what has that name, and nobody may list the names. */
const DIRECTORY_MODE = 0o711

/**
 * Directories of this server that are mounted into workspaces, one each: sockets in them join programs inside with this
 * process. Workspaces can make, replace and remove nothing in them, so that whatever is there is ours.
 */
export class InsideDirs {
  readonly root: string
  readonly #isKeeper: boolean

  private constructor(root: string, isKeeper: boolean) {
    this.root = root
    this.#isKeeper = isKeeper
  }

  /**
   * As the one server that holds the state directory: makes the root, takes away what an earlier process left, and puts
   * this version's runner in place of the one that was there.
   */
  static async keep(root: string): Promise<InsideDirs> {
    const dirs = new InsideDirs(root, true)
    await mkdir(root, { recursive: true, mode: 0o700 })
    await removeEntries(root, (entry) => entry !== SHARED_RUNNER)
    await dirs.#renewRunner()
    for (const name of await dirs.#names()) {
      await removeEntries(join(root, name), (entry) => entry !== RUNNER)
      await dirs.#linkRunner(name)
    }
    return dirs
  }

  /** As one of that server's processes. */
  static use(root: string): InsideDirs {
    return new InsideDirs(root, false)
  }

  pathOf(workspace: string): string {
    return join(this.root, workspace.toLowerCase())
  }

  /** Whether a workspace has a directory with a runner in it. Asked before every program, so it does not wait. */
  has(workspace: string): boolean {
    return canPassPipes() && existsSync(join(this.pathOf(workspace), RUNNER))
  }

  /** Makes a workspace's directory, if it is not there, and returns its path. */
  async create(workspace: string): Promise<string> {
    const path = this.pathOf(workspace)
    await mkdir(path, { mode: DIRECTORY_MODE }).catch(unless('EEXIST'))
    if (!(await lstat(path)).isDirectory()) throw new Error(`${path} is not a directory`)
    // Whatever the umask.
    await chmod(path, DIRECTORY_MODE)
    await this.#linkRunner(workspace.toLowerCase())
    return path
  }

  /**
   * Makes the directory that a workspace's container mounts, if it is gone, for no engine starts the container without. Where an
   * earlier state directory was it stays empty, and programs are run as if it were not mounted.
   */
  async restore(workspace: string, mounted: string): Promise<void> {
    if (mounted === this.pathOf(workspace)) await this.create(workspace)
    else await mkdir(mounted, { recursive: true, mode: DIRECTORY_MODE })
  }

  /** Removes a workspace's directory, if it is there. It stays when it holds what we never put there. */
  async remove(workspace: string): Promise<void> {
    const path = this.pathOf(workspace)
    await removeEntries(path, () => true)
    await rmdir(path).catch(unless('ENOENT', 'ENOTEMPTY', 'ENOTDIR'))
  }

  /** Removes the directories of all workspaces but those that there are; for the keeper alone. */
  async prune(list: () => Promise<readonly string[]>): Promise<void> {
    if (!this.#isKeeper) return
    const kept = new Set((await list()).map((name) => name.toLowerCase()))
    for (const name of await this.#names()) if (!kept.has(name)) await this.remove(name)
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
    // Never written in place: programs may be running by it.
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
      // None was built: an older one would speak an older language.
      return unlink(path).catch(ignoreMissing)
    }
    await rename(next, path)
    // Two names of one file: then rename does nothing and leaves both.
    await unlink(next).catch(ignoreMissing)
  }
}

/** Removes what stands in a directory itself: never through a link, and nothing that is a directory. */
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
