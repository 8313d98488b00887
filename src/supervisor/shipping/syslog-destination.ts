import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { connect, isIPv6, type Socket } from 'node:net'
import { hostname } from 'node:os'
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import { sendDatagram } from '../../native/programs/programs.ts'
import type { LogLine } from '../log/log-line.ts'
import type { Destination, DestinationSettings } from './destination.ts'

type SyslogSettings = Extract<DestinationSettings, { readonly kind: 'syslog' }>

/** Facility "daemon" with the severities "informational" and "error", as Docker sends lines. */
const PRIORITIES = { stdout: 3 * 8 + 6, stderr: 3 * 8 + 3 }
const MAX_NAME_LENGTH = 48
/** Size that receivers should accept. Source: RFC 5426, 3.2. */
const MAX_DATAGRAM_BYTES = 2_048

/** Size that rsyslog accepts by default. */
const MAX_LOCAL_BYTES = 8_192
/** Time between attempts to send to a receiver without room, and that until it counts as failing. */
const FULL_PAUSE_MS = 10
const FULL_LIMIT_MS = 10_000
/** Datagrams that are sent in one turn of the event loop. */
const DATAGRAMS_PER_TURN = 50

/** Formats a line as a syslog message. Source: RFC 5424, 6. */
function toSyslog({ timeMs, process, stream, text }: LogLine, host: string): string {
  const name = process.replaceAll(/[^!-~]/g, '_').slice(0, MAX_NAME_LENGTH)
  return `<${PRIORITIES[stream]}>1 ${new Date(timeMs).toISOString()} ${host} ${name} - - - ${text}`
}

/** Formats a line as syslog(3) does for the server of this machine: with local time, and without a host. Source: RFC 3164, 4.1. */
function toLocalSyslog({ timeMs, process, stream, text }: LogLine): string {
  const date = new Date(timeMs)
  const [, month, , , time] = date.toString().split(' ')
  const day = String(date.getDate()).padStart(2)
  return `<${PRIORITIES[stream]}>${month} ${day} ${time} ${process.slice(0, MAX_NAME_LENGTH)}: ${text}`
}

/** Sends lines over TCP or a Unix socket, each with its length in front. Source: RFC 6587, 3.4.1. */
export class SyslogStream implements Destination {
  readonly #settings: SyslogSettings
  #socket: Socket | undefined

  constructor(settings: SyslogSettings) {
    this.#settings = settings
  }

  send = (lines: readonly LogLine[], signal: AbortSignal): Promise<number> => {
    const frames = lines.map((line) => {
      const message = toSyslog(line, hostname())
      return `${Buffer.byteLength(message)} ${message}`
    })
    return new Promise((resolve, reject) => {
      const socket = (this.#socket ??= this.#open())
      const end = (error?: Error | null): void => {
        signal.removeEventListener('abort', abort)
        socket.off('close', closed)
        if (error) reject(error)
        else resolve(0)
      }
      const closed = (): void => end(new Error('the connection was closed'))
      const abort = (): void => void socket.destroy(new Error('sending was stopped'))
      signal.addEventListener('abort', abort)
      socket.once('close', closed)
      socket.write(frames.join(''), end)
    })
  }

  close = (): void => {
    this.#socket?.end()
  }

  #open(): Socket {
    const { transport, host, port } = this.#settings
    const socket = transport === 'unix' ? connect(host) : connect({ host, port, keepAlive: true })
    socket.on('error', () => undefined)
    socket.on('close', () => (this.#socket = undefined))
    // Receivers send nothing.
    return socket.resume()
  }
}

/** Sends lines to the Unix socket of a syslog server, as datagrams, or over a stream if it is a stream socket. */
export class SyslogSocket implements Destination {
  readonly #path: string
  readonly #stream: SyslogStream
  /** Lines that are being sent. After a failure the rest of them is sent, not all again. */
  #batch: { readonly lines: readonly LogLine[]; sent: number } = { lines: [], sent: 0 }

  constructor(settings: SyslogSettings) {
    this.#path = settings.host
    this.#stream = new SyslogStream(settings)
  }

  send = async (lines: readonly LogLine[], signal: AbortSignal): Promise<number> => {
    if (this.#batch.lines !== lines) this.#batch = { lines, sent: 0 }
    const batch = this.#batch
    for (const line of lines.slice(batch.sent)) {
      const message = Buffer.from(toLocalSyslog(line)).subarray(0, MAX_LOCAL_BYTES)
      try {
        await this.#sendDatagram(message, signal)
      } catch (error) {
        // Each time, because another server may have taken over the path.
        if (!isCode(error, 'EPROTOTYPE')) throw error
        return this.#stream.send(lines.slice(batch.sent), signal)
      }
      if (++batch.sent % DATAGRAMS_PER_TURN === 0) await nextTurn()
    }
    return 0
  }

  close = (): void => {
    this.#stream.close()
  }

  async #sendDatagram(message: Uint8Array, signal: AbortSignal): Promise<void> {
    const endMs = performance.now() + FULL_LIMIT_MS
    while (true) {
      signal.throwIfAborted()
      try {
        return sendDatagram(this.#path, message)
      } catch (error) {
        // The receiver's queue is full.
        if (!isCode(error, 'EAGAIN', 'ENOBUFS') || performance.now() > endMs) throw error
      }
      await delay(FULL_PAUSE_MS, undefined, { signal })
    }
  }
}

function isCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}

/** Sends each line as a datagram, cut at 2,048 bytes. Source: RFC 5426. */
export class SyslogDatagrams implements Destination {
  readonly #settings: SyslogSettings
  readonly #socket: UdpSocket

  constructor(settings: SyslogSettings) {
    this.#settings = settings
    this.#socket = createSocket(isIPv6(settings.host) ? 'udp6' : 'udp4').on('error', () => undefined)
    this.#socket.unref()
  }

  send = async (lines: readonly LogLine[]): Promise<number> => {
    const { host, port } = this.#settings
    for (const line of lines) {
      const message = Buffer.from(toSyslog(line, hostname())).subarray(0, MAX_DATAGRAM_BYTES)
      // Nobody confirms a datagram; an error is one of this machine.
      await new Promise<void>((resolve, reject) =>
        this.#socket.send(message, port, host, (error) => (error ? reject(error) : resolve())),
      )
    }
    return 0
  }

  close = (): void => {
    this.#socket.close()
  }
}
