import { ask, messageOf, ServerError } from '../server/request.ts'
import { texts } from '../texts.ts'

/** How a terminal fares. */
export type TerminalState =
  | { readonly is: 'opening' | 'open' | 'retrying' }
  /** -1 where it is not known. */
  | { readonly is: 'ended'; readonly exitStatus: number }
  | { readonly is: 'failed'; readonly message: string }

const FIRST_RETRY_MS = 500
const LAST_RETRY_MS = 10_000
/** Whatever is wrong then will be wrong the next time too. */
const LASTING_CLOSES: ReadonlySet<number> = new Set([4001, 4002])

export interface TerminalConnection {
  readonly send: (bytes: Uint8Array<ArrayBuffer>) => void
  /** Says that so many bytes of output have been drawn. */
  readonly take: (bytes: number) => void
  /** Tells the size anew. */
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
 * The program's end of a terminal. A tmux session goes on when the connection breaks, and is attached to again; a login
 * shell is gone with it.
 */
export function connectTerminal(options: ConnectionOptions): TerminalConnection {
  const { name, session, size, onOutput, onState } = options
  let socket: WebSocket | undefined
  let retry: ReturnType<typeof setTimeout> | undefined
  let retryMs = FIRST_RETRY_MS
  let isClosed = false
  let hasOpened = false

  const tell = (message: object): void => {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message))
  }
  const resize = (): void => tell({ type: 'resize', ...size() })

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
      // It may have changed meanwhile.
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
      if (LASTING_CLOSES.has(code)) return onState({ is: 'failed', message: reason })
      if (session !== undefined && hasOpened) return retryLater()
      if (hasOpened) return onState({ is: 'failed', message: texts.terminal.shellLost })
      void explain()
    })
  }
  /** A browser does not tell a page why a WebSocket was refused; the workspace's own state mostly does. */
  const explain = async (): Promise<void> => {
    try {
      const { status } = await ask<{ status: string }>(`/api/workspaces/${encodeURIComponent(name)}`)
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
      // A server that is away comes back; one that refuses has said so.
      const isAway = error instanceof ServerError && (error.status === 0 || error.status >= 500)
      if (session !== undefined && hasOpened && isAway) retryLater()
      else onState({ is: 'failed', message: messageOf(error) })
    })
  }
  onState({ is: 'opening' })
  start()
  return {
    resize,
    send: (bytes) => socket?.readyState === WebSocket.OPEN && socket.send(bytes),
    take: (bytes) => tell({ type: 'taken', bytes }),
    close() {
      isClosed = true
      clearTimeout(retry)
      socket?.close()
    },
  }
}

/** With a pass, since a WebSocket carries no token. @throws a `ServerError` */
async function terminalUrl(
  name: string,
  session: string | undefined,
  columns: number,
  rows: number,
): Promise<string> {
  const path = `/api/workspaces/${encodeURIComponent(name)}`
  const body = { for: 'terminal' }
  const { pass } = await ask<{ readonly pass: string }>(`${path}/passes`, { method: 'POST', body })
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
