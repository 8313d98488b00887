import { closeSync, constants, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs'
import { rotateFiles } from '../log/log-file-sink.ts'
import type { LogLine } from '../log/log-line.ts'
import type { Destination, DestinationSettings } from './destination.ts'

/** Appends lines to a rotated file, as JSON. */
export class FileDestination implements Destination {
  readonly #settings: Extract<DestinationSettings, { readonly kind: 'file' }>
  #fd: number | undefined

  constructor(settings: Extract<DestinationSettings, { readonly kind: 'file' }>) {
    this.#settings = settings
  }

  send = async (lines: readonly LogLine[]): Promise<number> => {
    const { path, maxBytes, keep } = this.#settings
    const bytes = Buffer.from(lines.map((line) => `${JSON.stringify(toRecord(line))}\n`).join(''))
    if (this.#fd !== undefined && fstatSync(this.#fd).size + bytes.length > maxBytes) {
      this.close()
      rotateFiles(path, keep)
    }
    const { O_WRONLY, O_CREAT, O_APPEND, O_NOFOLLOW } = constants
    const fd = (this.#fd ??= openSync(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0o640))
    const { size } = fstatSync(fd)
    try {
      for (let done = 0; done < bytes.length;) done += writeSync(fd, bytes, done)
    } catch (error) {
      // They are written again, so half a line must not stay.
      ftruncateSync(fd, size)
      throw error
    }
    return 0
  }

  close = (): void => {
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }
}

function toRecord({ timeMs, process, stream, text, isCut }: LogLine) {
  const record = { timestamp: new Date(timeMs).toISOString(), process, stream, message: text }
  return isCut ? { ...record, partial: true } : record
}
