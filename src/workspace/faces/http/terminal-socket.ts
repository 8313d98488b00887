import { setTimeout as delay } from 'node:timers/promises'
import type { RawData, WebSocket } from 'ws'
import type { Logger } from '../../../lib/log/logger.ts'
import { parseTerminalMessage } from '../../api/terminal.ts'
import type { ExecProcess } from '../../backend/backend.ts'

/** How much of what a program says may be on its way to a page, or wait there to be shown. */
const MAX_UNTAKEN_BYTES = 2 ** 20
/** How long a page may take for any of that. A program at a tmux session goes on without it. */
const STALL_MS = 60_000
const PING_MS = 15_000
/** A program that dies with its workspace ends a moment before that is known, or a while where it is the server that stops it. */
const END_GRACE_MS = 500
const KILLED = 128

/** Why a terminal was closed; 1000 is its program's own end. */
const CLOSE = { workspaceEnded: 4001, protocol: 4002, tooSlow: 4003 } as const

interface TerminalParts {
  readonly socket: WebSocket
  readonly process: ExecProcess
  /** Resolves when the workspace does not run any more. */
  readonly workspaceEnded: Promise<void>
  /** Resolves when nothing is being done to the workspace. */
  readonly whenIdle: () => Promise<unknown>
  readonly logger: Pick<Logger, 'info'>
  readonly stallMs?: number
}

/**
 * Joins a page and a program at a terminal: binary messages are what is typed and shown, texts say the rest. The program
 * is read as fast as the page says that it has taken what it was sent. Resolves when both are over.
 */
export async function serveTerminal(parts: TerminalParts): Promise<void> {
  const { socket, process, logger } = parts
  const credit = new Credit(parts.stallMs ?? STALL_MS)
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  let isWorkspaceGone = false
  const dismiss = (): void => {
    isWorkspaceGone = true
    socket.close(CLOSE.workspaceEnded, 'the workspace does not run any more')
  }
  void parts.workspaceEnded.then(dismiss)
  socket.on('error', () => socket.terminate())
  socket.on('message', (data, isBinary) => {
    if (isBinary) return type(socket, process, data)
    if (!obey(data, process, credit)) socket.close(CLOSE.protocol, 'a message that is not understood')
  })
  process.stdin.on('error', () => undefined)
  const endPings = pingUntilDead(socket)
  socket.once('close', () => {
    endPings()
    credit.end()
    void process.hangUp().catch(() => undefined)
  })

  try {
    for await (const chunk of process.stdout as AsyncIterable<Buffer>) {
      if (socket.readyState !== socket.OPEN) break
      socket.send(chunk)
      if (!(await credit.spend(chunk.length))) {
        socket.close(CLOSE.tooSlow, 'the page takes too long for what it is sent')
        break
      }
    }
    const { status } = await process.exitStatus
    if (!isWorkspaceGone) {
      const isKnown = Promise.all([parts.whenIdle(), status > KILLED && delay(END_GRACE_MS)])
      await Promise.race([parts.workspaceEnded, isKnown])
    }
    socket.send(JSON.stringify({ type: 'ended', exit_status: status }), () => undefined)
    socket.close(1000)
  } catch (error) {
    // Most often because the page left, and its program was hung up.
    if (socket.readyState === socket.OPEN)
      logger.info({ err: error }, 'a terminal ended with its connection to the workspace')
    socket.close(CLOSE.workspaceEnded, 'the connection to the workspace broke')
  }
  await closed
}

/** How much has been sent and not been taken yet. */
class Credit {
  readonly #stallMs: number
  #untakenBytes = 0
  #isOver = false
  #wake: () => void = () => undefined

  constructor(stallMs: number) {
    this.#stallMs = stallMs
  }

  /** Resolves when more may be sent; with false when nothing is taken for too long, or nobody is there. */
  async spend(bytes: number): Promise<boolean> {
    this.#untakenBytes += bytes
    while (this.#untakenBytes > MAX_UNTAKEN_BYTES && !this.#isOver) {
      const before = this.#untakenBytes
      const woken = new Promise<void>((resolve) => (this.#wake = resolve))
      const timer = setTimeout(() => this.#wake(), this.#stallMs)
      await woken
      clearTimeout(timer)
      if (this.#untakenBytes === before) return false
    }
    return !this.#isOver
  }

  /** False when more is said to be taken than was sent. */
  take(bytes: number): boolean {
    if (bytes > this.#untakenBytes) return false
    this.#untakenBytes -= bytes
    if (bytes > 0) this.#wake()
    return true
  }

  end(): void {
    this.#isOver = true
    this.#wake()
  }
}

/** A program that does not read what is typed holds up the page, and not this server's memory. */
function type(socket: WebSocket, process: ExecProcess, data: RawData): void {
  if (process.stdin.destroyed || process.stdin.write(data)) return
  socket.pause()
  process.stdin.once('drain', () => socket.resume())
}

/** False for what is no message of the protocol. */
function obey(data: RawData, process: ExecProcess, credit: Credit): boolean {
  const message = parseTerminalMessage((data as Buffer).toString())
  if (message === undefined) return false
  if (message.type === 'taken') return credit.take(message.bytes)
  process.resize(message.columns, message.rows)
  return true
}

/** Ends a connection whose other side has vanished. */
function pingUntilDead(socket: WebSocket): () => void {
  let isAlive = true
  socket.on('pong', () => (isAlive = true))
  const timer = setInterval(() => {
    if (!isAlive) return socket.terminate()
    isAlive = false
    socket.ping()
  }, PING_MS)
  return () => clearInterval(timer)
}
