import { connect, createServer, type Server, type Socket } from 'node:net'
import { unlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { Mux } from '../../../../lib/mux/mux.ts'
import { serveSerial } from '../../../../lib/mux/serial.ts'
import { joinStreams } from '../../../../lib/process/join-streams.ts'
import { AGENT_PORT } from '../../../../lib/guest/protocol.ts'
import { hostPortSocket } from './guest-line.ts'
import { MAX_CONNECTIONS } from './guest-ports.ts'

const RETRY_MS = 500
/** Longer than an agent in a busy VM takes to agree to a session with another server, or after a resume. */
const LINE_TIMEOUT_MS = 20_000
const LOOK_EVERY_MS = 20
/**
 * Time without a session after which the port is connected again, doubled each time up to a minute: a guest
 * that missed that the port was connected, as after an interrupted suspend, does not write to it.
 */
const FIRST_RENEWAL_MS = 8_000
const LAST_RENEWAL_MS = 64_000
const MAX_REQUEST_BYTES = 32

/**
 * Emulates a guest's vsock over a serial port: accepts connections on a Unix socket with the hybrid vsock
 * protocol (`CONNECT port`) and carries each over the port as a separate channel. A serial port has one user,
 * so only the server runs the bridge, and the SSH workers connect to the socket.
 */
export class SerialBridge {
  readonly #serial: string
  readonly #vsockSocket: string
  readonly #server: Server
  /** Channels that the guest opened, each with a separate connection. */
  readonly #forwarded = new Set<Duplex>()
  #mux: Mux | undefined
  #line: Socket | undefined
  #isClosed = false

  static async open(serialSocket: string, vsockSocket: string): Promise<SerialBridge> {
    const bridge = new SerialBridge(serialSocket, vsockSocket)
    await bridge.#listen(vsockSocket)
    void bridge.#maintainLine()
    return bridge
  }

  private constructor(serial: string, vsockSocket: string) {
    this.#serial = serial
    this.#vsockSocket = vsockSocket
    this.#server = createServer({ allowHalfOpen: true }, (socket) => {
      socket.on('error', () => undefined)
      void this.#serve(socket).catch(() => socket.destroy())
    })
  }

  close(): void {
    this.#isClosed = true
    this.#server.close()
    this.#mux?.close()
    this.#line?.destroy()
  }

  async #listen(path: string): Promise<void> {
    try {
      // Left behind by an earlier server.
      unlinkSync(path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
    await new Promise<void>((resolve, reject) => this.#server.once('error', reject).listen(path, resolve))
    this.#server.unref()
  }

  /**
   * Keeps a connection to the serial port open. The monitor may refuse it briefly after an earlier server's
   * connection.
   */
  async #maintainLine(): Promise<void> {
    let renewalMs = FIRST_RENEWAL_MS
    while (!this.#isClosed) {
      const line = connect(this.#serial)
      this.#line = line
      const renewal = setTimeout(() => line.destroy(), renewalMs).unref()
      renewalMs = Math.min(2 * renewalMs, LAST_RENEWAL_MS)
      line.once('connect', () =>
        serveSerial(line, 'first', (session) => {
          clearTimeout(renewal)
          renewalMs = FIRST_RENEWAL_MS
          const mux = new Mux(session, {
            isFirst: true,
            onChannel: (channel, greeting) => this.#forward(channel, greeting.toString('latin1')),
          })
          this.#mux = mux
          session.once('close', () => mux.close())
        }),
      )
      line.on('error', () => undefined)
      await new Promise((resolve) => line.once('close', resolve))
      clearTimeout(renewal)
      this.#mux?.close()
      this.#mux = undefined
      await delay(RETRY_MS)
    }
  }

  /**
   * Forwards a channel from the guest to a host port. It is just closed when nothing listens there, as with
   * vsock.
   */
  #forward(channel: Duplex, port: string): void {
    channel.on('error', () => undefined)
    if (!/^\d{1,10}$/.test(port) || this.#forwarded.size >= MAX_CONNECTIONS) return void channel.destroy()
    this.#forwarded.add(channel)
    channel.once('close', () => this.#forwarded.delete(channel))
    const socket = connect({
      path: join(dirname(this.#vsockSocket), hostPortSocket(Number(port))),
      allowHalfOpen: true,
    })
    void joinStreams(channel, socket)
  }

  /** Waits until the line is up, while the client waits; resolves to undefined when it stays down. */
  async #nextMux(socket: Socket): Promise<Mux | undefined> {
    const endMs = performance.now() + LINE_TIMEOUT_MS
    while (this.#mux === undefined && !this.#isClosed && !socket.destroyed && performance.now() < endMs)
      await delay(LOOK_EVERY_MS)
    return this.#mux
  }

  async #serve(socket: Socket): Promise<void> {
    const port = Number(/^CONNECT (\d{1,10})$/.exec(await readLine(socket))?.[1])
    const mux = await this.#nextMux(socket)
    // Only the agent listens inside; a refused connection is just closed, as with vsock.
    if (port !== AGENT_PORT || mux === undefined || mux.isClosed) return void socket.destroy()
    const channel: Duplex = mux.open(Buffer.alloc(0))
    socket.write(`OK ${port}\n`)
    await joinStreams(socket, channel)
  }
}

async function readLine(socket: Socket): Promise<string> {
  let line = ''
  for (;;) {
    const byte = socket.read(1) as Buffer | null
    if (byte === null) {
      if (socket.readableEnded || socket.destroyed) throw new Error('the connection ended')
      await new Promise<void>((resolve) => {
        socket.once('readable', resolve).once('end', resolve).once('close', resolve)
      })
      continue
    }
    if (byte[0] === 0x0a) return line
    line += byte.toString('latin1')
    if (line.length > MAX_REQUEST_BYTES) throw new Error('the request is too long')
  }
}
