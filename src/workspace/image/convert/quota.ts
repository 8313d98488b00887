import { statfs } from 'node:fs/promises'
import { Transform } from 'node:stream'
import { fault } from '../../errors.ts'
import { MAX_IMAGE_BYTES, MAX_IMAGE_ENTRIES } from './cage.ts'

const GIB = 2 ** 30
/** The disk keeps this much free, or this part of it where it is small. */
const RESERVE_BYTES = GIB
const RESERVE_PART = 0.05
/** How often the disk is asked: after so many bytes or entries. */
const LOOK_BYTES = 2 ** 26
const LOOK_ENTRIES = 4_096

/**
 * Bounds what an archive unpacks to while it is unpacked: the bytes of the decompressed archive, the files and directories it makes, and what
 * the disk has left. `stop` aborts with a fault when one of them is passed.
 */
export class Quota {
  readonly #directory: string
  readonly #stop = new AbortController()
  readonly #maxBytes: number
  readonly #maxEntries: number
  #bytes = 0
  #entries = 0
  #lookedAt = { bytes: 0, entries: 0 }
  #isLooking = false
  #previous: readonly string[] = []

  /** @param directory on the disk that the archive is unpacked to */
  constructor(directory: string, { maxBytes = MAX_IMAGE_BYTES, maxEntries = MAX_IMAGE_ENTRIES } = {}) {
    this.#directory = directory
    this.#maxBytes = maxBytes
    this.#maxEntries = maxEntries
  }

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  /** A stream that counts the archive's bytes on their way to tar. */
  counter(): Transform {
    return new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        this.#bytes += chunk.length
        if (this.#bytes > this.#maxBytes)
          this.#exceed(`the image unpacks to more than ${this.#maxBytes / GIB} GiB`)
        this.#look()
        done(null, chunk)
      },
    })
  }

  /** Counts an entry, and the directories above it that the one before did not have: tar may have to make those too. */
  addEntry(path: string): void {
    const parts = path.split('/').filter((part) => part !== '' && part !== '.')
    let common = 0
    while (common < parts.length - 1 && parts[common] === this.#previous[common]) common++
    this.#previous = parts
    this.#entries += Math.max(1, parts.length - common)
    if (this.#entries > this.#maxEntries)
      this.#exceed(`the image has more than ${this.#maxEntries} files and directories`)
    this.#look()
  }

  #look(): void {
    const { bytes, entries } = this.#lookedAt
    if (this.#isLooking || (this.#bytes - bytes < LOOK_BYTES && this.#entries - entries < LOOK_ENTRIES))
      return
    this.#lookedAt = { bytes: this.#bytes, entries: this.#entries }
    this.#isLooking = true
    void this.#checkDisk().finally(() => (this.#isLooking = false))
  }

  async #checkDisk(): Promise<void> {
    const disk = await statfs(this.#directory).catch(() => undefined)
    if (disk === undefined) return
    const free = disk.bavail * disk.bsize
    const reserve = Math.min(RESERVE_BYTES, disk.blocks * disk.bsize * RESERVE_PART)
    // File systems without a table of inodes say that they have none.
    const hasInodes = disk.files === 0 || disk.ffree > disk.files * RESERVE_PART
    if (free >= reserve && hasInodes) return
    const left = hasInodes ? `${Math.floor(free / 2 ** 20)} MiB` : `${disk.ffree} inodes`
    this.#exceed(`the disk is full (${left} are free in ${this.#directory}); make room there and try again`)
  }

  #exceed(why: string): void {
    this.#stop.abort(fault('BACKEND_ERROR', `unpacking the image failed: ${why}`))
  }
}
