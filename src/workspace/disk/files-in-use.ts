import type { BigIntStats } from 'node:fs'
import { lstat, readdir, readFile, readlink, realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join } from 'node:path'
import { messageOf } from '../../lib/errors/message.ts'

/**
 * Errors for processes that exit, files that are closed and loop devices that are detached while being inspected; of an
 * attribute that is removed after it was opened, sysfs reports ENODEV.
 */
const VANISHED = ['ENOENT', 'ESRCH', 'ENODEV']
/** The same, and errors for processes that this one may not inspect. */
const HIDDEN = [...VANISHED, 'EACCES', 'EPERM']

/**
 * Snapshot of the files in use on this machine: open files, mapped files, working directories and loop
 * devices. Sources: proc_pid_fd(5), proc_pid_maps(5), /sys/block/loop<N>/loop/backing_file.
 *
 * Processes that the system hides are omitted: those of other users, unless the server runs as root. Open
 * directories do not count, because listing or measuring a tree opens them briefly.
 */
export class FilesInUse {
  readonly #users = new Map<string, string>()
  readonly #paths = new Map<string, string>()
  /** Why the snapshot is incomplete; '' when it is complete. */
  #failure = ''

  /** Inspects the whole machine. Never rejects: if the inspection fails, every file counts as used. */
  static async read(): Promise<FilesInUse> {
    const found = new FilesInUse()
    // Other systems have no /proc to inspect.
    if (process.platform !== 'linux') return found
    try {
      for (const pid of await readdir('/proc')) if (/^\d+$/.test(pid)) await found.#addProcess(pid)
      await found.#addLoopDevices()
    } catch (error) {
      found.#failure = messageOf(error)
    }
    return found
  }

  /** Like userOf, for a file and its directory, but not the rest of that directory. */
  async userOfFile(path: string): Promise<string> {
    const user = await this.userOf(path)
    if (user !== '') return user
    const directory = await ignoring(VANISHED, () => lstat(dirname(path), { bigint: true }))
    return directory === undefined ? '' : (this.#users.get(keyOf(directory)) ?? '')
  }

  /**
   * Returns why a file, or anything in a directory, must not be deleted, as a sentence; '' when nothing uses
   * it, or it is not a path.
   */
  async userOf(path: string): Promise<string> {
    if (!isAbsolute(path)) return ''
    if (this.#failure !== '') return `it may be in use (${this.#failure})`
    try {
      const real = await realpath(path)
      for (const [used, user] of this.#paths) if (used === real || used.startsWith(`${real}/`)) return user
      return await this.#userOfTree(path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
      return `it may be in use (${messageOf(error)})`
    }
  }

  async #userOfTree(path: string): Promise<string> {
    const found = await lstat(path, { bigint: true })
    const user = this.#users.get(keyOf(found))
    if (user !== undefined || !found.isDirectory()) return user ?? ''
    for (const name of await readdir(path)) {
      const inside = await ignoring(VANISHED, () => this.#userOfTree(join(path, name)))
      if (inside !== undefined && inside !== '') return inside
    }
    return ''
  }

  async #addProcess(pid: string): Promise<void> {
    const at = (what: string) => `/proc/${pid}/${what}`
    await ignoring(HIDDEN, async () => {
      for (const fd of await readdir(at('fd')))
        await ignoring(VANISHED, async () => {
          const link = at(`fd/${fd}`)
          if (!isOnDisk(await readlink(link))) return
          const found = await stat(link, { bigint: true })
          if (!found.isDirectory()) this.#users.set(keyOf(found), `process ${pid} has it open`)
        })
    })
    await ignoring(HIDDEN, async () => {
      for (const line of (await readFile(at('maps'), 'utf8')).split('\n')) {
        const path = /^(?:\S+ +){5}(\/.*)$/.exec(line)?.[1]
        if (path !== undefined && isOnDisk(path)) this.#paths.set(path, `process ${pid} has mapped it`)
      }
    })
    for (const place of ['cwd', 'root'])
      await ignoring(HIDDEN, async () => {
        const found = await stat(at(place), { bigint: true })
        this.#users.set(keyOf(found), `process ${pid} works in it`)
      })
  }

  async #addLoopDevices(): Promise<void> {
    const devices = (await ignoring(VANISHED, () => readdir('/sys/block'))) ?? []
    for (const device of devices.filter((name) => name.startsWith('loop')))
      await ignoring(VANISHED, async () => {
        const path = (await readFile(`/sys/block/${device}/loop/backing_file`, 'utf8')).trimEnd()
        this.#paths.set(path, `it is behind /dev/${device}`)
        this.#users.set(keyOf(await stat(path, { bigint: true })), `it is behind /dev/${device}`)
      })
  }
}

function keyOf({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`
}

/** Returns whether a name in /proc is a file on disk; inspecting others costs time. */
function isOnDisk(name: string): boolean {
  return name.startsWith('/') && !/^\/(?:(?:dev|proc|sys)\/|memfd:)/.test(name)
}

async function ignoring<T>(codes: readonly string[], work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (codes.includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}
