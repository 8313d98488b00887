import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { Logger } from '../../../lib/log/logger.ts'
import type { Login, LoginRefusal } from './authenticate.ts'

/** How many connections may be open at once that have not proven a key. */
const MAX_UNPROVEN = 100

/** Whoever speaks SSH on accepted connections: this process, or others. */
export interface ConnectionKeeper {
  /** Takes a connection over; what is returned ends it. */
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

/** Follows who logs in and who does not. */
export interface LoginWatch {
  /** The result is called when they have gone. */
  readonly onLogin: (login: Login) => () => void
  readonly onRefused: (refusal: LoginRefusal) => void
  /** Somebody who has logged in comes into their workspace, or not. @param code why not */
  readonly onEntry: (login: Login, code: string | undefined) => void
}

/** The SSH face's door: accepts connections and hands them on. */
export class SshServer {
  readonly #listener = createServer({ pauseOnConnect: true }, (socket) => this.#accept(socket))
  readonly #keeper: ConnectionKeeper
  readonly #logger: Logger
  readonly #watch: LoginWatch
  /** What ends each of them, oldest first. */
  readonly #unproven = new Set<() => void>()

  constructor(keeper: ConnectionKeeper, watch: LoginWatch, logger: Logger) {
    this.#keeper = keeper
    this.#watch = watch
    this.#logger = logger
  }

  /** Resolves with the port. */
  async listen(at: { readonly host: string; readonly port: number }): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#listener.once('error', reject)
      this.#listener.listen({ ...at, backlog: 1024 }, () => {
        this.#listener.removeListener('error', reject)
        this.#listener.on('error', (error: Error) => this.#logger.error({ err: error }, 'SSH server'))
        resolve()
      })
    })
    return (this.#listener.address() as AddressInfo).port
  }

  /** Takes no more connections and ends those there are. */
  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#listener.close(() => resolve()))
    await this.#keeper.stop()
    await closed
  }

  /** Beyond the limit the oldest unproven one goes: whoever speaks is proven long before a flood has pushed it out (S5). */
  #accept(socket: Socket): void {
    let onLogout: (() => void) | undefined
    let who: Login | undefined
    const drop = this.#keeper.admit(socket, {
      onProven: (login) => {
        this.#unproven.delete(drop)
        who = login
        onLogout = this.#watch.onLogin(login)
      },
      onRefused: (refusal) => this.#watch.onRefused(refusal),
      onEntry: (code) => who && this.#watch.onEntry(who, code),
      onClosed: () => {
        this.#unproven.delete(drop)
        onLogout?.()
      },
    })
    this.#unproven.add(drop)
    const [oldest] = this.#unproven
    if (this.#unproven.size <= MAX_UNPROVEN || oldest === undefined) return
    this.#unproven.delete(oldest)
    oldest()
  }
}
