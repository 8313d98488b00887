import { randomBytes } from 'node:crypto'
import { closeSync, constants, openSync, unlinkSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { makeFifo, setPipeCapacity } from '../../../native/fifo.ts'

const { O_NONBLOCK, O_NOFOLLOW, O_RDONLY, O_WRONLY } = constants

/** As much as a user's pipe may be made to hold everywhere; more is no faster. */
const CAPACITY_BYTES = 256 * 1024

/** The host's ends of a program's standard streams. */
export interface ProgramStreams {
  readonly stdin: Writable
  readonly stdout: Socket
  readonly stderr: Socket
}

/**
 * FIFOs in a workspace's directory that become a program's standard streams. Their names are random and told to the
 * program's runner alone; they are taken away as soon as both sides have them open. The modes let the workspace's user
 * open the program's ends whatever number that user has here.
 */
export class ProgramPipes {
  readonly id = randomBytes(16).toString('hex')
  readonly #directory: string
  readonly #hasInput: boolean
  /** Open from the beginning, so that the runner's ends can be opened without waiting. */
  readonly #outputs: number[] = []
  readonly #names: string[] = []

  /** Throws as node:fs does, ENOENT where there is no such directory. */
  constructor(directory: string, hasInput: boolean) {
    this.#directory = directory
    this.#hasInput = hasInput
    try {
      if (hasInput) this.#make('in', 0o644)
      for (const suffix of ['out', 'err']) {
        this.#make(suffix, 0o622)
        const fd = openSync(this.#path(suffix), O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
        this.#outputs.push(fd)
        setPipeCapacity(fd, CAPACITY_BYTES)
      }
    } catch (error) {
      this.discard()
      throw error
    }
  }

  /**
   * Joins the streams once the runner has opened its ends: before, a read would find an end that is none. Throws ENXIO
   * when the runner is gone.
   */
  open(): ProgramStreams {
    const stdin = this.#hasInput ? this.#openInput() : ended()
    const [stdout, stderr] = this.#outputs
      .splice(0)
      .map((fd) => harmless(new Socket({ fd, readable: true, writable: false })))
    this.discard()
    if (stdout === undefined || stderr === undefined) throw new Error('these pipes have been opened already')
    return { stdin, stdout, stderr }
  }

  /** Closes what has not been joined and removes the names. */
  discard(): void {
    for (const fd of this.#outputs.splice(0)) closeSync(fd)
    for (const name of this.#names.splice(0)) unlinkSync(this.#path(name))
  }

  #openInput(): Writable {
    const fd = openSync(this.#path('in'), O_WRONLY | O_NONBLOCK | O_NOFOLLOW)
    setPipeCapacity(fd, CAPACITY_BYTES)
    return harmless(new Socket({ fd, readable: false, writable: true }))
  }

  #make(suffix: string, mode: number): void {
    makeFifo(this.#path(suffix), mode)
    this.#names.push(suffix)
  }

  #path(suffix: string): string {
    return join(this.#directory, `${this.id}.${suffix}`)
  }
}

/** A program that closes its input ends the stream with EPIPE; who writes learns of it by the stream's end. */
function harmless(stream: Socket): Socket {
  return stream.on('error', () => undefined)
}

/** The input of a program that has none. */
function ended(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() }).end()
}
