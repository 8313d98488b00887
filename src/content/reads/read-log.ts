import { closeSync, constants, fstatSync, openSync, renameSync, statSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { lockFile } from '../../lib/fs/file-lock.ts'
import { makeDirs } from '../../lib/fs/make-dirs.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { ReadRecord } from './read-record.ts'

const FLUSH_MS = 200
/** Records that wait longer than this are dropped and counted: a full disk must not stop readers. */
const MAX_WAITING_BYTES = 2 ** 20
const NEWLINE = Buffer.from('\n')

/** Location and limits of the log. */
export interface ReadLogConfig {
  readonly file: string
  readonly maxBytes: number
  /** Number of older files: FILE.1 is the newest. */
  readonly keep: number
}

/**
 * Log of who read what, one JSON object per line. All processes of a host append to one file; the first to find it full
 * rotates it under a lock, and the others notice before their next write.
 */
export class ReadLog {
  readonly #config: ReadLogConfig
  readonly #logger: Logger
  readonly #complete: (records: readonly ReadRecord[]) => Promise<readonly ReadRecord[]>
  #waiting: ReadRecord[] = []
  #waitingBytes = 0
  #lost = 0
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()
  #fd: number | undefined
  #endsInLine = false

  /** @param complete adds fields that cannot be computed while a request is answered */
  constructor(
    config: ReadLogConfig,
    logger: Logger,
    complete: (records: readonly ReadRecord[]) => Promise<readonly ReadRecord[]>,
  ) {
    this.#config = config
    this.#logger = logger
    this.#complete = complete
  }

  /** Adds a record, written within a fraction of a second. */
  record(record: ReadRecord): void {
    if (this.#waitingBytes > MAX_WAITING_BYTES) {
      this.#lost++
      return
    }
    this.#waiting.push(record)
    this.#waitingBytes += record.path.length + 256
    this.#timer ??= setTimeout(() => void this.flush(), FLUSH_MS)
  }

  /** Writes all records; never fails. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#writing = this.#writing.then(() => this.#write())
    return this.#writing
  }

  async close(): Promise<void> {
    await this.flush()
    this.#closeFile()
  }

  async #write(): Promise<void> {
    const records = this.#waiting
    this.#waiting = []
    this.#waitingBytes = 0
    if (records.length === 0) return
    try {
      const lines = (await this.#complete(records)).map((each) => `${JSON.stringify(each)}\n`).join('')
      await this.#rotateIfFull()
      this.#append(Buffer.from(lines))
      if (this.#lost > 0) this.#logger.error({ lost: this.#lost }, 'reads were not logged')
      this.#lost = 0
    } catch (error) {
      if (this.#lost === 0) this.#logger.error({ err: error }, 'the log of reads cannot be written')
      this.#lost += records.length
      this.#closeFile()
    }
  }

  #append(bytes: Buffer): void {
    const fd = (this.#fd ??= this.#open())
    // After a partial write, such as on a full disk, the next record begins on a new line.
    const all = this.#endsInLine ? Buffer.concat([NEWLINE, bytes]) : bytes
    for (let done = 0; done < all.length;) {
      done += writeSync(fd, all, done)
      this.#endsInLine = done < all.length
    }
  }

  #open(): number {
    const { O_WRONLY, O_CREAT, O_APPEND, O_NOFOLLOW } = constants
    makeDirs(dirname(this.#config.file), 0o700)
    return openSync(this.#config.file, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0o600)
  }

  async #rotateIfFull(): Promise<void> {
    const { file, maxBytes, keep } = this.#config
    const found = statSync(file, { throwIfNoEntry: false })
    if (this.#fd !== undefined && fstatSync(this.#fd).ino !== found?.ino) this.#closeFile()
    if (found === undefined || found.size < maxBytes) return
    const release = await lockFile(`${file}.lock`)
    try {
      // Another process may have rotated it meanwhile.
      if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) < maxBytes) return
      for (let i = keep; i > 0; i--) {
        const from = i === 1 ? file : `${file}.${i - 1}`
        if (statSync(from, { throwIfNoEntry: false }) !== undefined) renameSync(from, `${file}.${i}`)
      }
    } finally {
      this.#closeFile()
      await release()
    }
  }

  #closeFile(): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }
}
