import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { isFault } from '../errors/fault.ts'
import type { Logger } from '../log/logger.ts'
import type { AnswerOrder } from './answer-order.ts'
import type { Diversion, UpgradeHandler } from './diversion.ts'
import type { ErrorShape } from './errors.ts'
import { httpFault } from './faults.ts'
import { keepHead } from './keep-head.ts'
import { answerRaw } from './raw-answer.ts'
import { STATUS_OF_KIND } from './status.ts'

interface Handling {
  readonly protocol: string
  readonly path: RegExp
  readonly needsNoToken: boolean
  readonly handler: UpgradeHandler
}

/**
 * Dispatches upgrade requests by the value of `Upgrade`. The guards of every route
 * run first; errors have the program's usual form.
 */
export class Upgrades {
  readonly #handlings: Handling[] = []
  readonly #open = new Set<Duplex>()
  readonly #divert: Diversion | undefined

  constructor(
    server: Server,
    rules: {
      readonly checkHost: (request: IncomingMessage) => void
      readonly guard: (
        request: IncomingMessage,
        hasEffect: boolean,
        config: { readonly needsNoToken: boolean },
      ) => void
      readonly divert?: Diversion | undefined
      readonly order: AnswerOrder
    },
    errors: ErrorShape,
    logger: Logger,
  ) {
    this.#divert = rules.divert
    // Without a listener Node handles an upgrade as a plain request.
    server.on('upgrade', (request, socket, head) => {
      this.#open.add(socket)
      socket.once('close', () => this.#open.delete(socket))
      socket.on('error', () => socket.destroy())
      keepHead(socket, head)
      // Before Node 24.9, which has shouldUpgradeCallback.
      if (rules.order.isBusy(socket)) {
        socket.destroy()
        return
      }
      const run = async (): Promise<void> => {
        rules.checkHost(request)
        if (rules.divert?.isFor(request) === true) return rules.divert.upgrade(request, socket)
        const { handler, needsNoToken } = this.#find(request)
        // An upgrade has side effects, so pages of other sites must not cause one (threat H3).
        rules.guard(request, true, { needsNoToken })
        await handler(request, socket)
      }
      run().catch((error: unknown) => {
        const fault = isFault(error) ? error : httpFault('INTERNAL_ERROR', 'the upgrade failed', error)
        if (!isFault(error)) logger.error({ err: error }, 'an upgrade failed')
        answerRaw(socket, STATUS_OF_KIND[fault.kind], errors.render(fault))
      })
    })
  }

  /** Registers a protocol. `path` restricts its targets; with `needsNoToken` the handler authorizes requests itself. */
  handle(protocol: string, handler: UpgradeHandler, { path = /^/, needsNoToken = false } = {}): void {
    this.#handlings.push({ protocol, path, needsNoToken, handler })
  }

  /** Whether a request is for one of the protocols. */
  accepts(request: IncomingMessage): boolean {
    if (this.#divert?.isFor(request) === true) return this.#divert.acceptsUpgrade(request)
    const protocol = request.headers.upgrade?.toLowerCase()
    return this.#handlings.some((each) => each.protocol === protocol)
  }

  destroyAll(): void {
    for (const socket of this.#open) socket.destroy()
  }

  #find(request: IncomingMessage): Handling {
    const { headers, url = '' } = request
    const path = url.split('?')[0] ?? ''
    const protocol = headers.upgrade?.toLowerCase()
    const handling = this.#handlings.find((each) => each.protocol === protocol && each.path.test(path))
    if (handling !== undefined) return handling
    throw httpFault(
      'INVALID_REQUEST',
      `protocol "${headers.upgrade}" is not supported at ${path.slice(0, 200)}`,
    )
  }
}
