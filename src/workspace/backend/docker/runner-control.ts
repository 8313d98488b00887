import type { Socket } from 'node:net'
import { constants } from 'node:os'
import type { ExitStatus } from '../backend.ts'
import { demultiplex } from './demux.ts'

/** The runner's lines are short; what is longer is somebody else's. */
const MAX_LINE_BYTES = 256

const NAMES = new Map(
  Object.entries(constants.signals).map(([name, number]) => [number, name as NodeJS.Signals]),
)

/** Speaks with the runner (`native/run/main.cc`) over the engine's stream. */
export class RunnerControl {
  /** Whether it has opened its ends of the pipes and waits to start the program. */
  readonly isReady: Promise<boolean>
  /** How the program ended; undefined when the stream ended before that was told. */
  readonly ending: Promise<ExitStatus | undefined>
  readonly #socket: Socket
  #isOver = false

  constructor(socket: Socket) {
    this.#socket = socket
    const ready = Promise.withResolvers<boolean>()
    const ending = Promise.withResolvers<ExitStatus | undefined>()
    this.isReady = ready.promise
    this.ending = ending.promise
    const { stdout, stderr } = demultiplex(socket)
    // Where the runner cannot be started the engine says so, here or there.
    stderr.resume()
    let pending = ''
    const over = (status?: ExitStatus): void => {
      this.#isOver = true
      ready.resolve(false)
      ending.resolve(status)
    }
    stdout.setEncoding('latin1').on('data', (text: string) => {
      const lines = (pending + text).split('\n')
      pending = (lines.pop() ?? '').slice(0, MAX_LINE_BYTES)
      for (const line of lines) {
        const status = parseEnding(line)
        if (status !== undefined) over(status)
        else ready.resolve(line === 'ready')
      }
    })
    stdout.once('end', () => over()).once('close', () => over())
    socket.once('close', () => over())
  }

  /** Asks the runner for something; false when the program has ended. */
  say(order: string): boolean {
    if (this.#isOver || !this.#socket.writable) return false
    this.#socket.write(`${order}\n`)
    return true
  }

  /** Lets the runner take this server for gone, once it has all that was said, and still hears how the program ends. */
  end(): void {
    this.#socket.end()
  }

  destroy(): void {
    this.#socket.destroy()
  }
}

function parseEnding(line: string): ExitStatus | undefined {
  const exit = /^exit (\d{1,3})$/.exec(line)
  if (exit !== null) return { status: Number(exit[1]) }
  const ended = /^signal (\d{1,2}) ([01])$/.exec(line)
  if (ended === null) return undefined
  const number = Number(ended[1])
  const signal = NAMES.get(number)
  return {
    status: 128 + number,
    ...(signal !== undefined && { signal, hasDumpedCore: ended[2] === '1' }),
  }
}
