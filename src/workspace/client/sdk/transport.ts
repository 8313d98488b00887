import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { isFault } from '../../../lib/errors/fault.ts'
import { messageOf } from '../../../lib/errors/message.ts'
import { parseJson } from '../../../lib/schema/parse-json.ts'
import { Type } from '../../../lib/schema/type.ts'
import { readEvents } from '../../../lib/sse/read-events.ts'
import { namesFromWire, namesToWire } from '../../api/camel-case.ts'
import { type ErrorBody, faultFromAnswer, type ServerAddress, unreachable } from '../server-address.ts'
import { endWhenSilent, responseTo } from '../server-request.ts'
import { ConnectionError, WorkspaceError } from './errors.ts'

/** A request that changes nothing is repeated this often while the server asks for it. */
const MAX_REPEATS = 4
const MAX_PAUSE_MS = 10_000
const FIRST_RETRY_MS = 50
const LAST_RETRY_MS = 2_000
/** Streams that continue after a lost connection try for 30 s by default. */
const RECONNECT_MS = 30_000
const BINARY = 'application/octet-stream'
const answerSchema = Type.Object({})

/** Options of every request. */
export interface RequestOptions {
  /** Aborting it cancels the request, which then rejects with its reason. */
  readonly signal?: AbortSignal | undefined
}

/** Options of streams that continue after a lost connection. */
export interface FollowOptions extends RequestOptions {
  /** How long to try to reconnect; default 30 s. */
  readonly reconnectMs?: number | undefined
}

/** A request; query and body have names in camelCase. */
export interface Request extends RequestOptions {
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>
  readonly body?: object | undefined
  /** A file; without its length, it is sent in chunks. */
  readonly content?: { readonly bytes?: number; readonly data: Uint8Array | Readable }
}

/** An event of a stream; the names in its data are in camelCase. */
export interface StreamEvent {
  readonly event: string
  readonly data: unknown
  readonly id: string | undefined
}

/** Sends requests to one server, found at the first. */
export class Transport {
  readonly #find: () => Promise<ServerAddress>
  #found: Promise<ServerAddress> | undefined

  constructor(find: () => Promise<ServerAddress>) {
    this.#find = find
  }

  /** Sends a request; resolves with undefined for a response without content. */
  async ask<T>(method: string, path: string, request: Request = {}): Promise<T> {
    const response = await this.open(method, path, 'application/json', request)
    const body = await this.#whole(response, request, text)
    if (response.statusCode === 204) return undefined as T
    const answer = parseJson(answerSchema, body)
    if (answer === undefined) throw await this.#lost('the response is not from a workspace server')
    return namesFromWire(answer) as T
  }

  /** Sends a GET request whose response is a file. */
  async download(path: string, request: Request): Promise<Buffer> {
    return this.#whole(await this.open('GET', path, BINARY, request), request, buffer)
  }

  /** Like `download`, in pieces. */
  async *downloadPieces(path: string, request: Request): AsyncGenerator<Uint8Array, void, void> {
    const response = await this.open('GET', path, BINARY, request)
    yield* this.#guarded(response, request)
  }

  /** Sends a request whose response is a stream of events. Ending the iteration closes the connection. */
  async *events(
    method: string,
    path: string,
    request: Request = {},
    onOpen: () => void = () => undefined,
  ): AsyncGenerator<StreamEvent, void, void> {
    const response = await this.open(method, path, 'text/event-stream', request)
    endWhenSilent(response)
    onOpen()
    const chunks = this.#guarded<string>(response.setEncoding('utf8'), request)
    for await (const { event, data, id } of readEvents(chunks)) {
      const content: unknown = JSON.parse(data)
      if (event === 'error') throw errorIn(content as ErrorBody, response.statusCode)
      yield { event, data: namesFromWire(content), id }
    }
  }

  /**
   * Yields events up to the one named `last`, and opens the stream again when the connection is lost.
   *
   * @throws ConnectionError when the first connection fails, or none succeeds in time
   */
  async *follow(
    open: (onOpen: () => void) => AsyncIterable<StreamEvent>,
    { signal, reconnectMs = RECONNECT_MS }: FollowOptions,
    last?: string,
  ): AsyncGenerator<StreamEvent, void, void> {
    /** When to give up; infinite while there is a connection. */
    let endMs = 0
    let retryMs = FIRST_RETRY_MS
    for (;;) {
      let lost: ConnectionError | undefined
      try {
        const opened = (): void => {
          endMs = Infinity
          retryMs = FIRST_RETRY_MS
        }
        for await (const event of open(opened)) {
          yield event
          if (event.event === last) return
        }
      } catch (error) {
        if (!(error instanceof ConnectionError)) throw error
        lost = error
      }
      const nowMs = performance.now()
      if (endMs === Infinity) endMs = nowMs + reconnectMs
      if (nowMs + retryMs > endMs) throw lost ?? (await this.#lost('the stream ended'))
      await pause(retryMs, signal)
      retryMs = Math.min(2 * retryMs, LAST_RETRY_MS)
    }
  }

  /** Returns the error for a connection that was lost. */
  async #lost(why: string, cause?: unknown): Promise<ConnectionError> {
    return new ConnectionError(unreachable(await this.#server(), why).message, { cause })
  }

  async #server(): Promise<ServerAddress> {
    this.#found ??= this.#find()
    return this.#found
  }

  /**
   * Sends a request and returns its successful response. One that changes nothing is repeated while the server answers
   * 503 with Retry-After; others never are.
   *
   * @throws WorkspaceError the server's error
   * @throws ConnectionError when no server responds
   */
  async open(method: string, path: string, accept: string, request: Request): Promise<IncomingMessage> {
    for (let repeats = 0; ; repeats++) {
      const response = await this.#send(method, path, accept, request)
      const { statusCode = 500 } = response
      if (statusCode < 300) return response
      const { code, message } = faultFromAnswer(statusCode, await this.#whole(response, request, text))
      const waitS = Number(response.headers['retry-after'])
      const isRepeatable = method === 'GET' && statusCode === 503 && Number.isFinite(waitS)
      if (!isRepeatable || repeats === MAX_REPEATS) throw new WorkspaceError(code, statusCode, message)
      await pause(Math.min(1_000 * waitS + FIRST_RETRY_MS * 2 ** repeats, MAX_PAUSE_MS), request.signal)
    }
  }

  async #send(
    method: string,
    path: string,
    accept: string,
    { query = {}, body, content, signal }: Request,
  ): Promise<IncomingMessage> {
    signal?.throwIfAborted()
    const headers = {
      accept,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(content !== undefined && { 'content-type': BINARY }),
      ...(content?.bytes !== undefined && { 'content-length': String(content.bytes) }),
    }
    const options = { method, headers, ...(signal !== undefined && { signal }) }
    const sent = body === undefined ? content?.data : JSON.stringify(namesToWire(body))
    try {
      return await responseTo(await this.#server(), path + textOfQuery(query), options, sent)
    } catch (error) {
      signal?.throwIfAborted()
      if (isFault(error)) throw new ConnectionError(error.message, { code: error.code, cause: error.cause })
      throw error
    }
  }

  async #whole<T>(
    response: IncomingMessage,
    { signal }: Request,
    read: (response: IncomingMessage) => Promise<T>,
  ): Promise<T> {
    try {
      return await read(response)
    } catch (error) {
      signal?.throwIfAborted()
      throw await this.#lost(`the response ended early: ${messageOf(error)}`, error)
    }
  }

  async *#guarded<T>(response: IncomingMessage, { signal }: Request): AsyncGenerator<T, void, void> {
    try {
      for await (const chunk of response) yield chunk as T
    } catch (error) {
      signal?.throwIfAborted()
      throw await this.#lost(`the response ended early: ${messageOf(error)}`, error)
    }
  }
}

/** Waits; rejects with the signal's reason when it aborts. */
async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await delay(ms, undefined, { ...(signal !== undefined && { signal }) })
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  }
}

function errorIn({ code, message }: ErrorBody, status = 200): WorkspaceError {
  return new WorkspaceError(code, status, message)
}

function textOfQuery(query: NonNullable<Request['query']>): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(namesToWire(query) as typeof query))
    for (const each of [value].flat()) if (each !== undefined) parameters.append(name, String(each))
  return parameters.size === 0 ? '' : `?${parameters.toString()}`
}
