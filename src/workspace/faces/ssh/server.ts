import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { Logger } from '../../../lib/log/logger.ts'
import type { Login, LoginRefusal } from './authenticate.ts'

/** Maximum number of open connections that have not authenticated. */
const MAX_UNAUTHENTICATED = 100

/** Speaks SSH on accepted connections, in this process or in workers. */
export interface ConnectionHandler {
  /** Takes over a connection; returns a function that closes it. */
  readonly admit: (
    socket: Socket,
    events: {
      readonly onProven: (login: Login) => void
      readonly onRefused: (refusal: LoginRefusal) => void
      readonly onEntry: (code: string | undefined) => void
      readonly onClosed: () => void
    },
  ) => () => void
  readonly stop: () => Promise<void>
}

/** Observes logins and refusals. */
export interface LoginObserver {
  /** Returns a function to call when the user has disconnected. @param drop closes the connection */
  readonly onLogin: (login: Login, drop: () => void) => () => void
  readonly onRefused: (refusal: LoginRefusal) => void
  /** An authenticated user entered the workspace (`code` undefined) or was refused (`code` is the error code). */
  readonly onEntry: (login: Login, code: string | undefined) => void
}

/** The SSH listener: accepts connections and passes them to a `ConnectionHandler`. */
export class SshServer {
  readonly #listener = createServer({ pauseOnConnect: true }, (socket) => this.#accept(socket))
  readonly #handler: ConnectionHandler
  readonly #logger: Logger
  readonly #observer: LoginObserver
  /** Functions that close unauthenticated connections, oldest first. */
  readonly #unauthenticated = new Set<() => void>()

  constructor(handler: ConnectionHandler, observer: LoginObserver, logger: Logger) {
    this.#handler = handler
    this.#observer = observer
    this.#logger = logger
  }

  /** Starts listening; resolves with the port. */
  async listen(at: { readonly host: string; readonly port: number }): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#listener.once('error', reject)
      this.#listener.listen({ ...at, backlog: 1024 }, () => {
        this.#listener.removeListener('error', reject)
        this.#listener.on('error', (error: Error) => this.#logger.error({ err: error }, 'SSH server error'))
        resolve()
      })
    })
    return (this.#listener.address() as AddressInfo).port
  }

  /** Stops accepting connections and closes the open ones. */
  async stop(): Promise<void> {
    // Its event is not awaited: it never comes after a worker process was killed that had received connections.
    this.#listener.close()
    await this.#handler.stop()
  }

  /** Beyond the limit, closes the oldest unauthenticated connection: a real client authenticates long before a flood displaces it (S5). */
  #accept(socket: Socket): void {
    let onLogout: (() => void) | undefined
    let user: Login | undefined
    const drop = this.#handler.admit(socket, {
      onProven: (login) => {
        this.#unauthenticated.delete(drop)
        user = login
        onLogout = this.#observer.onLogin(login, drop)
      },
      onRefused: (refusal) => this.#observer.onRefused(refusal),
      onEntry: (code) => user && this.#observer.onEntry(user, code),
      onClosed: () => {
        this.#unauthenticated.delete(drop)
        onLogout?.()
      },
    })
    this.#unauthenticated.add(drop)
    const [oldest] = this.#unauthenticated
    if (this.#unauthenticated.size <= MAX_UNAUTHENTICATED || oldest === undefined) return
    this.#unauthenticated.delete(oldest)
    oldest()
  }
}
