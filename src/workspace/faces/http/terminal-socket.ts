import { setTimeout as delay } from 'node:timers/promises'
import type { RawData, WebSocket } from 'ws'
import type { Logger } from '../../../lib/log/logger.ts'
import { parseTerminalMessage } from '../../api/terminal.ts'
import type { ExecProcess } from '../../backend/backend.ts'

/** Limit for output that the page has not acknowledged. */
const MAX_UNACKNOWLEDGED_BYTES = 2 ** 20
/** Time limit for the page to acknowledge any output. Programs in a tmux session continue without the page. */
const STALL_MS = 60_000
const PING_MS = 15_000
/** A program that dies with its workspace exits shortly before the server notices that the workspace stopped. */
const END_GRACE_MS = 500
/** Exit statuses above this mean that a signal killed the program. */
const KILLED = 128

/** WebSocket close codes; 1000 means that the program exited. */
const CLOSE = { workspaceEnded: 4001, protocol: 4002, tooSlow: 4003 } as const

interface TerminalParts {
  readonly socket: WebSocket
  readonly process: ExecProcess
  /** Resolves when the workspace is no longer running. */
  readonly workspaceEnded: Promise<void>
  /** Resolves when no operation on the workspace is in progress. */
  readonly whenIdle: () => Promise<unknown>
  readonly logger: Pick<Logger, 'info'>
  readonly stallMs?: number
}

/**
 * Connects a page to a program on a terminal: binary messages carry input and output, text messages carry control data. The
 * program's output is read as fast as the page acknowledges it. Resolves when the program has exited and the socket is closed.
 */
export async function serveTerminal(parts: TerminalParts): Promise<void> {
  const { socket, process, logger } = parts
  const credit = new Credit(parts.stallMs ?? STALL_MS)
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  let isWorkspaceGone = false
  const dismiss = (): void => {
    isWorkspaceGone = true
    socket.close(CLOSE.workspaceEnded, 'the workspace is no longer running')
  }
  void parts.workspaceEnded.then(dismiss)
  socket.on('error', () => socket.terminate())
  socket.on('message', (data, isBinary) => {
    if (isBinary) return type(socket, process, data)
    if (!handleControl(data, process, credit)) socket.close(CLOSE.protocol, 'invalid message')
  })
  process.stdin.on('error', () => undefined)
  const endPings = pingUntilDead(socket)
  socket.once('close', () => {
    endPings()
    credit.close()
    void process.hangUp()
  })

  try {
    for await (const chunk of process.stdout as AsyncIterable<Buffer>) {
      if (socket.readyState !== socket.OPEN) break
      socket.send(chunk)
      if (!(await credit.spend(chunk.length))) {
        socket.close(CLOSE.tooSlow, 'the page did not acknowledge output in time')
        break
      }
    }
    const { status } = await process.exitStatus
    if (!isWorkspaceGone) {
      const graceEnded = Promise.all([parts.whenIdle(), status > KILLED && delay(END_GRACE_MS)])
      await Promise.race([parts.workspaceEnded, graceEnded])
    }
    socket.send(JSON.stringify({ type: 'ended', exit_status: status }), () => undefined)
    socket.close(1000)
  } catch (error) {
    // Usually because the page disconnected and its program was hung up.
    if (socket.readyState === socket.OPEN)
      logger.info({ err: error }, 'terminal closed: the connection to the workspace was lost')
    socket.close(CLOSE.workspaceEnded, 'the connection to the workspace was lost')
  }
  await closed
}

/** Flow control: counts the bytes sent but not yet acknowledged. */
class Credit {
  readonly #stallMs: number
  #unacknowledgedBytes = 0
  #isClosed = false
  #wake: () => void = () => undefined

  constructor(stallMs: number) {
    this.#stallMs = stallMs
  }

  /** Resolves with true when more may be sent, with false when the page stalls or disconnects. */
  async spend(bytes: number): Promise<boolean> {
    this.#unacknowledgedBytes += bytes
    while (this.#unacknowledgedBytes > MAX_UNACKNOWLEDGED_BYTES && !this.#isClosed) {
      const before = this.#unacknowledgedBytes
      const woken = new Promise<void>((resolve) => (this.#wake = resolve))
      const timer = setTimeout(() => this.#wake(), this.#stallMs)
      await woken
      clearTimeout(timer)
      if (this.#unacknowledgedBytes === before) return false
    }
    return !this.#isClosed
  }

  /** Returns false if the page acknowledges more than was sent. */
  acknowledge(bytes: number): boolean {
    if (bytes > this.#unacknowledgedBytes) return false
    this.#unacknowledgedBytes -= bytes
    if (bytes > 0) this.#wake()
    return true
  }

  close(): void {
    this.#isClosed = true
    this.#wake()
  }
}

/** Passes input to the program; pauses the page if the program does not read, instead of buffering here. */
function type(socket: WebSocket, process: ExecProcess, data: RawData): void {
  if (process.stdin.destroyed || process.stdin.write(data)) return
  socket.pause()
  process.stdin.once('drain', () => socket.resume())
}

/** Applies a control message; returns false if it is not a valid message. */
function handleControl(data: RawData, process: ExecProcess, credit: Credit): boolean {
  const message = parseTerminalMessage((data as Buffer).toString())
  if (message === undefined) return false
  if (message.type === 'taken') return credit.acknowledge(message.bytes)
  process.resize(message.columns, message.rows)
  return true
}

/** Pings the page and terminates a connection whose peer has vanished; returns a function that stops the pings. */
function pingUntilDead(socket: WebSocket): () => void {
  let isAlive = true
  // An answer may wait behind the output that the page still receives, and acknowledges, over a slow connection.
  for (const event of ['pong', 'message'] as const) socket.on(event, () => (isAlive = true))
  const timer = setInterval(() => {
    if (!isAlive) return socket.terminate()
    isAlive = false
    socket.ping()
  }, PING_MS)
  return () => clearInterval(timer)
}
