import type { Socket } from 'node:net'
import { constants } from 'node:os'
import type { ExitStatus } from '../../backend.ts'

/** Reports from a runner are shorter than this. */
const MAX_REPORT_BYTES = 256

const NAMES = new Map(
  Object.entries(constants.signals).map(([name, number]) => [number, name as NodeJS.Signals]),
)

/** Controls a runner (`native/run/main.cc`) that has started its program. */
export class RunnerControl {
  /** The program's exit status; undefined when the connection ended before it was reported. */
  readonly ending: Promise<ExitStatus | undefined>
  readonly #runner: Socket
  #hasEnded = false

  constructor(runner: Socket) {
    this.#runner = runner
    let report = ''
    this.ending = new Promise((resolve) => {
      const finish = (): void => {
        this.#hasEnded = true
        resolve(parseEnding(report))
        runner.destroy()
      }
      runner.on('data', (chunk: Buffer) => {
        report = (report + chunk.toString('latin1')).slice(0, MAX_REPORT_BYTES)
        if (report.endsWith('\n')) finish()
      })
      runner.once('end', finish).once('close', finish)
    })
  }

  /** Signals the program's process group; returns false when the program has exited. */
  signal(name: NodeJS.Signals): boolean {
    if (this.#hasEnded || !this.#runner.writable) return false
    this.#runner.write(`signal ${constants.signals[name]}\n`)
    return true
  }

  /**
   * Ends the connection, which the runner treats as the server's exit: it hangs up the program and still
   * reports the status.
   */
  end(): void {
    this.#runner.end()
  }
}

function parseEnding(report: string): ExitStatus | undefined {
  const exit = /^exit (\d{1,3})\n$/.exec(report)
  if (exit !== null) return { status: Number(exit[1]) }
  const ended = /^signal (\d{1,2}) ([01])\n$/.exec(report)
  if (ended === null) return undefined
  const number = Number(ended[1])
  const signal = NAMES.get(number)
  return {
    status: 128 + number,
    ...(signal !== undefined && { signal, hasDumpedCore: ended[2] === '1' }),
  }
}
