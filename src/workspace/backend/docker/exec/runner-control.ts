import type { Socket } from 'node:net'
import { constants } from 'node:os'
import type { ExitStatus } from '../../backend.ts'

/** What a runner says is shorter; what is longer somebody else says. */
const MAX_SAID_BYTES = 256

const NAMES = new Map(
  Object.entries(constants.signals).map(([name, number]) => [number, name as NodeJS.Signals]),
)

/** Speaks with a runner (`native/run/main.cc`) that has started its program. */
export class RunnerControl {
  /** How the program ended; undefined when the connection ended before that was told. */
  readonly ending: Promise<ExitStatus | undefined>
  readonly #runner: Socket
  #isOver = false

  constructor(runner: Socket) {
    this.#runner = runner
    let said = ''
    this.ending = new Promise((resolve) => {
      const over = (): void => {
        this.#isOver = true
        resolve(parseEnding(said))
        runner.destroy()
      }
      runner.on('data', (chunk: Buffer) => {
        said = (said + chunk.toString('latin1')).slice(0, MAX_SAID_BYTES)
        if (said.endsWith('\n')) over()
      })
      runner.once('end', over).once('close', over)
    })
  }

  /** Passes a signal on to the program's group; false when the program has ended. */
  signal(name: NodeJS.Signals): boolean {
    if (this.#isOver || !this.#runner.writable) return false
    this.#runner.write(`signal ${constants.signals[name]}\n`)
    return true
  }

  /** Lets the runner take this server for gone: it hangs the program up, and still says how it ended. */
  end(): void {
    this.#runner.end()
  }
}

function parseEnding(said: string): ExitStatus | undefined {
  const exit = /^exit (\d{1,3})\n$/.exec(said)
  if (exit !== null) return { status: Number(exit[1]) }
  const ended = /^signal (\d{1,2}) ([01])\n$/.exec(said)
  if (ended === null) return undefined
  const number = Number(ended[1])
  const signal = NAMES.get(number)
  return {
    status: 128 + number,
    ...(signal !== undefined && { signal, hasDumpedCore: ended[2] === '1' }),
  }
}
