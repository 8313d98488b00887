import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Fault } from '../errors/fault.ts'
import { httpFault } from './faults.ts'
import { answerRaw } from './raw-answer.ts'

const TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT'

/**
 * Keeps the responses of a connection in the order of its requests where Node does not: for requests that its parser refuses (too
 * large, too slow, or not HTTP) and for upgrades. A connection with a refused request gets one response to it, after the responses
 * to earlier requests, and closes. If the response to that request has started, the connection is cut.
 */
export class AnswerOrder {
  readonly #shape: { readonly render: (fault: Fault) => unknown }
  readonly #maxHeadBytes: number
  readonly #last = new WeakMap<Duplex, ServerResponse>()
  readonly #broken = new WeakSet<Socket>()
  readonly #unhurried = new WeakSet<IncomingMessage>()

  /** @param maxHeadBytes the server's `maxHeaderSize` */
  constructor(shape: { readonly render: (fault: Fault) => unknown }, maxHeadBytes: number) {
    this.#shape = shape
    this.#maxHeadBytes = maxHeadBytes
  }

  /** Records the newest request of its connection. Call it for each `request` event. */
  follow({ socket }: IncomingMessage, response: ServerResponse): void {
    this.#last.set(socket, response)
  }

  /** Exempts a request from the time limit for its body, which its route then limits. */
  awaitLongBody(request: IncomingMessage): void {
    this.#unhurried.add(request)
  }

  /** Whether an earlier request of the connection still needs its response, which an upgrade would corrupt. */
  isBusy(socket: Duplex): boolean {
    return this.#last.get(socket)?.destroyed === false
  }

  /** Handles a `clientError` event. */
  readonly refuse = (error: Error & { code?: string }, socket: Socket): void => {
    if (error.code === 'ECONNRESET') return void socket.destroy()
    const last = this.#last.get(socket)
    // Node reports this once per request, and reads on.
    if (error.code === TIMEOUT && last !== undefined && this.#unhurried.has(last.req)) return
    // A failed parser reports every further chunk of the connection.
    if (this.#broken.has(socket)) return
    this.#broken.add(socket)
    const [status, fault] = brokenRequest(error.code, this.#maxHeadBytes)
    const send = (): void => {
      socket.once('finish', () => socket.destroy())
      answerRaw(socket, status, this.#shape.render(fault))
    }
    const cut = (): void => void socket.destroy()
    if (last === undefined || last.destroyed) return send()
    // The error is in the head after the last request.
    if (last.req.complete) return void last.once('close', send)
    if (last.writableEnded) return void last.once('close', cut)
    const end = last.headersSent ? cut : send
    // The error is in its own body: it waits for the responses before it.
    if (last.socket === null) last.once('socket', end)
    else end()
  }
}

function brokenRequest(code: string | undefined, maxHeadBytes: number): readonly [number, Fault] {
  if (code === 'HPE_HEADER_OVERFLOW') {
    const why = `the request's URL and headers exceed ${maxHeadBytes / 1_024} KiB`
    return [431, httpFault('REQUEST_TOO_LARGE', why)]
  }
  if (code === TIMEOUT) {
    return [408, httpFault('REQUEST_TIMEOUT', 'the request did not arrive in time')]
  }
  return [400, httpFault('INVALID_REQUEST', 'the request is not valid HTTP')]
}
