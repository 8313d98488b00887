import type { BigIntStats } from 'node:fs'
import { lstat, readdir, readFile, readlink, realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join } from 'node:path'
import { messageOf } from '../../lib/errors/message.ts'

/** Errors of processes that end, and of files that are closed, while they are looked at. */
const VANISHED = ['ENOENT', 'ESRCH']
/** The same, and what the system answers for processes that this one may not look at. */
const HIDDEN = [...VANISHED, 'EACCES', 'EPERM']

/**
 * Files that something on this machine uses at one moment: open files, mapped files, working directories and loop devices.
 * Sources: proc_pid_fd(5), proc_pid_maps(5), /sys/block/loop<N>/loop/backing_file.
 *
 * Processes that the system hides are left out: those of other users, unless the server runs as root. An open directory
 * does not count, since listing or measuring a tree opens it for a moment.
 */
export class FilesInUse {
  readonly #users = new Map<string, string>()
  readonly #paths = new Map<string, string>()
  /** Why not everything could be looked at; '' where it could. */
  #failure = ''

  /** Looks at the whole machine. Never rejects: where it cannot look, everything counts as used. */
  static async read(): Promise<FilesInUse> {
    const found = new FilesInUse()
    // Elsewhere there is nothing to look at.
    if (process.platform !== 'linux') return found
    try {
      for (const pid of await readdir('/proc')) if (/^\d+$/.test(pid)) await found.#addProcess(pid)
      await found.#addLoopDevices()
    } catch (error) {
      found.#failure = messageOf(error)
    }
    return found
  }

  /** The same of a file and the directory it is in, and nothing else of that. */
  async userOfFile(path: string): Promise<string> {
    const user = await this.userOf(path)
    if (user !== '') return user
    const directory = await ignoring(VANISHED, () => lstat(dirname(path), { bigint: true }))
    return directory === undefined ? '' : (this.#users.get(keyOf(directory)) ?? '')
  }

  /** Why a file, or anything in a directory, must not be deleted, as a sentence; '' where nothing uses it, or it is not a path. */
  async userOf(path: string): Promise<string> {
    if (!isAbsolute(path)) return ''
    if (this.#failure !== '') return `whether something uses it cannot be told (${this.#failure})`
    try {
      const real = await realpath(path)
      for (const [used, user] of this.#paths) if (used === real || used.startsWith(`${real}/`)) return user
      return await this.#userOfTree(path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
      return `whether something uses it cannot be told (${messageOf(error)})`
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

/** Whether a name in /proc is one of a file on a disk; looking at others costs time. */
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
