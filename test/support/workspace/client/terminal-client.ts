import { onTestFinished } from 'vitest'
import WebSocket from 'ws'
import { waitFor } from '../../wait-for.ts'

/** The page's side of a terminal connection. */
export interface TerminalClient {
  readonly socket: WebSocket
  readonly type: (text: string) => void
  readonly say: (message: unknown) => void
  readonly screen: () => string
  readonly receivedBytes: () => number
  /** Messages from the server other than output. */
  readonly controls: readonly unknown[]
  readonly shows: (what: string | RegExp) => Promise<void>
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>
}

interface TerminalOptions {
  readonly headers?: Readonly<Record<string, string>>
  /** Whether output is acknowledged immediately; defaults to true. */
  readonly takes?: boolean
  readonly onData?: (data: Buffer) => void
}

/** Connects; a response without an upgrade rejects with its status and body. */
export async function openTerminal(url: string, options: TerminalOptions = {}): Promise<TerminalClient> {
  const { headers = {}, takes = true, onData } = options
  const socket = new WebSocket(url.replace(/^http/, 'ws'), 'terminal', { headers })
  onTestFinished(() => socket.terminate())
  const controls: unknown[] = []
  let screen = ''
  let receivedBytes = 0
  socket.on('message', (data: Buffer, isBinary) => {
    if (!isBinary) {
      controls.push(JSON.parse(data.toString()))
      return
    }
    receivedBytes += data.length
    if (onData === undefined) screen += data.toString()
    onData?.(data)
    if (takes) socket.send(JSON.stringify({ type: 'taken', bytes: data.length }))
  })
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() })),
  )
  await new Promise<void>((resolve, reject) => {
    socket.on('open', () => resolve())
    socket.on('error', reject)
    socket.on('unexpected-response', (_request, response) => {
      let body = ''
      response.on('data', (chunk) => (body += chunk))
      response.on('end', () => reject(new Error(`${response.statusCode} ${body}`)))
    })
  })
  return {
    socket,
    controls,
    closed,
    type: (text) => socket.send(Buffer.from(text)),
    say: (message) => socket.send(JSON.stringify(message)),
    screen: () => screen,
    receivedBytes: () => receivedBytes,
    shows: (what) =>
      waitFor(`${String(what)} on the screen`, () =>
        typeof what === 'string' ? screen.includes(what) : what.test(screen),
      ).catch((error: unknown) => {
        throw new Error(`the screen shows: ${screen}`, { cause: error })
      }),
  }
}
