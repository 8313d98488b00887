import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Below the ports that Linux and macOS use for outgoing connections, which could take a port before its program does. */
const FIRST = 20_000
const COUNT = 12_768

/** Chooses ports for runs, each a different one. */
export class FreePorts {
  #at = randomInt(COUNT)

  /** Returns a port on which nothing listens. If all are in use, the program reports it. */
  next(): number {
    for (let tried = 0; tried < COUNT; tried++) {
      const port = FIRST + (this.#at++ % COUNT)
      if (isFree(port)) return port
    }
    return FIRST
  }
}

function isFree(port: number): boolean {
  // Without a host name, it listens before this returns.
  const server = createServer().on('error', () => undefined)
  server.listen({ port, exclusive: true })
  const isListening = server.address() !== null
  server.close()
  return isListening
}
