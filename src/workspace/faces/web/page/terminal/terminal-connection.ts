import { fetchJson, messageOf, ServerError } from '../server/request.ts'
import { texts } from '../texts.ts'

/** State of a terminal. */
export type TerminalState =
  | { readonly is: 'opening' | 'open' | 'retrying' }
  /** `exitStatus` is -1 if unknown. */
  | { readonly is: 'ended'; readonly exitStatus: number }
  | { readonly is: 'failed'; readonly message: string }

const FIRST_RETRY_MS = 500
const LAST_RETRY_MS = 10_000
/** Close codes after which reconnecting cannot succeed. */
const PERMANENT_CLOSE_CODES: ReadonlySet<number> = new Set([4001, 4002])

/** A connection to a program in a workspace. */
export interface TerminalConnection {
  readonly send: (bytes: Uint8Array<ArrayBuffer>) => void
  /** Acknowledges output that has been drawn. */
  readonly acknowledge: (bytes: number) => void
  /** Sends the current size. */
  readonly resize: () => void
  readonly close: () => void
}

interface ConnectionOptions {
  readonly name: string
  readonly session: string | undefined
  readonly size: () => { readonly columns: number; readonly rows: number }
  readonly onOutput: (bytes: Uint8Array) => void
  readonly onState: (state: TerminalState) => void
}

/**
 * Connects a terminal to its program. When the connection breaks, a tmux session keeps running and is reattached; a login shell
 * is terminated.
 */
export function connectTerminal(options: ConnectionOptions): TerminalConnection {
  const { name, session, size, onOutput, onState } = options
  let socket: WebSocket | undefined
  let retry: ReturnType<typeof setTimeout> | undefined
  let retryMs = FIRST_RETRY_MS
  let isClosed = false
  let hasOpened = false

  const sendControl = (message: object): void => {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message))
  }
  const resize = (): void => sendControl({ type: 'resize', ...size() })

  const open = async (): Promise<void> => {
    let exitStatus: number | undefined
    const { columns, rows } = size()
    const opening = new WebSocket(await terminalUrl(name, session, columns, rows), 'terminal')
    if (isClosed) return opening.close()
    socket = opening
    opening.binaryType = 'arraybuffer'
    opening.addEventListener('open', () => {
      hasOpened = true
      retryMs = FIRST_RETRY_MS
      onState({ is: 'open' })
      // The size may have changed while connecting.
      resize()
    })
    opening.addEventListener('message', ({ data }: MessageEvent<ArrayBuffer | string>) => {
      if (typeof data !== 'string') return onOutput(new Uint8Array(data))
      const message = JSON.parse(data) as { type: string; exit_status?: number }
      if (message.type === 'ended') exitStatus = message.exit_status ?? -1
    })
    opening.addEventListener('close', ({ code, reason }) => {
      if (isClosed) return
      if (exitStatus !== undefined) return onState({ is: 'ended', exitStatus })
      if (PERMANENT_CLOSE_CODES.has(code)) return onState({ is: 'failed', message: reason })
      if (session !== undefined && hasOpened) return retryLater()
      if (hasOpened) return onState({ is: 'failed', message: texts.terminal.shellLost })
      void explain()
    })
  }
  /** Browsers hide why a WebSocket was refused; the workspace's status usually explains it. */
  const explain = async (): Promise<void> => {
    try {
      const { status } = await fetchJson<{ status: string }>(`/api/workspaces/${encodeURIComponent(name)}`)
      const why = status === 'running' ? texts.terminal.refused : texts.terminal.notRunning(name)
      onState({ is: 'failed', message: why })
    } catch (error) {
      onState({ is: 'failed', message: messageOf(error) })
    }
  }
  const retryLater = (): void => {
    onState({ is: 'retrying' })
    retry = setTimeout(start, retryMs)
    retryMs = Math.min(LAST_RETRY_MS, retryMs * 2)
  }
  const start = (): void => {
    open().catch((error: unknown) => {
      if (isClosed) return
      // Retry only if the server is unreachable or failing, not if it refused.
      const isUnavailable = error instanceof ServerError && (error.status === 0 || error.status >= 500)
      if (session !== undefined && hasOpened && isUnavailable) retryLater()
      else onState({ is: 'failed', message: messageOf(error) })
    })
  }
  onState({ is: 'opening' })
  start()
  return {
    resize,
    send: (bytes) => socket?.readyState === WebSocket.OPEN && socket.send(bytes),
    acknowledge: (bytes) => sendControl({ type: 'taken', bytes }),
    close() {
      isClosed = true
      clearTimeout(retry)
      socket?.close()
    },
  }
}

/** Returns the terminal's URL with a ticket, because a WebSocket cannot carry the token. @throws a `ServerError` */
async function terminalUrl(
  name: string,
  session: string | undefined,
  columns: number,
  rows: number,
): Promise<string> {
  const path = `/api/workspaces/${encodeURIComponent(name)}`
  const body = { for: 'terminal' }
  const { pass } = await fetchJson<{ readonly pass: string }>(`${path}/passes`, { method: 'POST', body })
  const url = new URL(`${path}/terminal`, location.href)
  url.protocol = url.protocol.replace('http', 'ws')
  const query = {
    columns: String(columns),
    rows: String(rows),
    pass,
    ...(session !== undefined && { session }),
  }
  url.search = new URLSearchParams(query).toString()
  return url.href
}
