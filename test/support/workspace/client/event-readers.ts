import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('../../../fixtures/events/readers.ts', import.meta.url))

/** When the first, the 99th of a hundred and the last reader received an event, in epoch milliseconds. */
interface Arrival {
  readonly id: number
  readonly firstMs: number
  readonly p99Ms: number
  readonly lastMs: number
}

/** Many readers of an event stream, in a separate process so that they do not slow the server. */
export interface EventReaders {
  /**
   * The next event that all of them received; the first is their snapshot. Fails when one of them lost its
   * stream.
   */
  readonly next: () => Promise<Arrival>
  readonly stop: () => Promise<void>
}

/** Opens event streams in another process and counts the events of each. */
export function openEventReaders(url: string, count: number): EventReaders {
  const child = spawn(process.execPath, [PROGRAM, url, String(count)], { stdio: ['ignore', 'pipe', 'pipe'] })
  const exit = once(child, 'close')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  return {
    async next() {
      const { value, done } = await lines.next()
      if (done === true) throw new Error(`the readers ended: ${said}`)
      return JSON.parse(value) as Arrival
    },
    async stop() {
      child.kill()
      await exit
    },
  }
}
