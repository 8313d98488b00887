import { statfs } from 'node:fs/promises'
import { Transform } from 'node:stream'
import { ignore } from '../../../lib/errors/ignore.ts'
import { fault } from '../../errors.ts'
import { MAX_IMAGE_BYTES, MAX_IMAGE_ENTRIES } from './conversion-sandbox.ts'

const GIB = 2 ** 30
/** Space that must stay free on the disk, or this share of a small disk. */
const RESERVE_BYTES = GIB
const RESERVE_PART = 0.05
/** How often free space is checked, in bytes and entries. */
const CHECK_BYTES = 2 ** 26
const CHECK_ENTRIES = 4_096

/**
 * Limits an archive while it is unpacked: its decompressed size, the number of files and directories it
 * creates, and the free space on the disk. `signal` is aborted with an error when a limit is exceeded.
 */
export class Quota {
  readonly #directory: string
  readonly #stop = new AbortController()
  readonly #maxBytes: number
  readonly #maxEntries: number
  #bytes = 0
  #entries = 0
  #checkedAt = { bytes: 0, entries: 0 }
  #isChecking = false
  #previous: readonly string[] = []

  /** @param directory a directory on the disk that the archive is unpacked to */
  constructor(directory: string, { maxBytes = MAX_IMAGE_BYTES, maxEntries = MAX_IMAGE_ENTRIES } = {}) {
    this.#directory = directory
    this.#maxBytes = maxBytes
    this.#maxEntries = maxEntries
  }

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  /** Returns a stream that counts the archive's bytes on their way to tar. */
  counter(): Transform {
    return new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        this.#bytes += chunk.length
        if (this.#bytes > this.#maxBytes)
          this.#exceed(`the image unpacks to more than ${this.#maxBytes / GIB} GiB`)
        this.#check()
        done(null, chunk)
      },
    })
  }

  /**
   * Counts an entry and those of its parents that the previous entry did not have: tar may have to create
   * them, too.
   */
  addEntry(path: string): void {
    const parts = path.split('/').filter((part) => part !== '' && part !== '.')
    let common = 0
    while (common < parts.length - 1 && parts[common] === this.#previous[common]) common++
    this.#previous = parts
    this.#entries += Math.max(1, parts.length - common)
    if (this.#entries > this.#maxEntries)
      this.#exceed(`the image has more than ${this.#maxEntries} files and directories`)
    this.#check()
  }

  #check(): void {
    const { bytes, entries } = this.#checkedAt
    if (this.#isChecking || (this.#bytes - bytes < CHECK_BYTES && this.#entries - entries < CHECK_ENTRIES))
      return
    this.#checkedAt = { bytes: this.#bytes, entries: this.#entries }
    this.#isChecking = true
    void this.#checkDisk().finally(() => (this.#isChecking = false))
  }

  async #checkDisk(): Promise<void> {
    const disk = await statfs(this.#directory).catch(ignore('the limits of bytes and files hold without it'))
    if (disk === undefined) return
    const free = disk.bavail * disk.bsize
    const reserve = Math.min(RESERVE_BYTES, disk.blocks * disk.bsize * RESERVE_PART)
    // File systems without an inode table report zero inodes.
    const hasInodes = disk.files === 0 || disk.ffree > disk.files * RESERVE_PART
    if (free >= reserve && hasInodes) return
    const left = hasInodes ? `${Math.floor(free / 2 ** 20)} MiB` : `${disk.ffree} inodes`
    this.#exceed(`the disk is full (${left} free in ${this.#directory}); free disk space and try again`)
  }

  #exceed(why: string): void {
    this.#stop.abort(fault('BACKEND_ERROR', `unpacking the image failed: ${why}`))
  }
}
