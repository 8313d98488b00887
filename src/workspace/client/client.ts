import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Fault } from '../../lib/errors/fault.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { readEvents } from '../../lib/sse/read-events.ts'
import { parseJson } from '../../lib/schema/parse-json.ts'
import { Type } from '../../lib/schema/type.ts'
import {
  type ErrorBody,
  faultFromAnswer,
  LAST_EVENT_ID_HEADER,
  type ServerAddress,
  toFault,
  unreachable,
} from './server-address.ts'
import { endWhenSilent, responseTo } from './server-request.ts'

/** Every JSON response of the API is an object. */
const answerSchema = Type.Object({})
const NDJSON = 'application/x-ndjson'
const BINARY = 'application/octet-stream'

interface RequestSettings {
  readonly type?: string
  readonly signal?: AbortSignal
  readonly lastEventId?: string | undefined
}

/** A client for the REST API. @throws the server's faults, and SERVER_UNREACHABLE when it does not respond */
export class WorkspaceClient {
  readonly #server: ServerAddress

  constructor(server: ServerAddress) {
    this.#server = server
  }

  /** Sends a GET request. */
  async get<T>(path: string, signal?: AbortSignal): Promise<T> {
    return this.#ask<T>('GET', path, signal)
  }

  /** Sends a POST request. */
  async post<T>(path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
    return this.#ask<T>('POST', path, signal, body)
  }

  /** Sends a PATCH request. */
  async patch<T>(path: string, body: unknown): Promise<T> {
    return this.#ask<T>('PATCH', path, undefined, body)
  }

  /** Sends a PUT request. */
  async put<T>(path: string, body: unknown): Promise<T> {
    return this.#ask<T>('PUT', path, undefined, body)
  }

  /** Sends a POST request whose response has no content. */
  async send(path: string, body: unknown): Promise<void> {
    await this.#ask('POST', path, undefined, body)
  }

  /** Posts JSON lines; the response has no content. */
  async sendLines(path: string, lines: Buffer): Promise<void> {
    const response = await this.#request('POST', path, lines, 'application/json', { type: NDJSON })
    response.resume()
  }

  /** Sends a GET request whose response is a file; the caller reads it. */
  download(path: string, signal?: AbortSignal): Promise<IncomingMessage> {
    return this.#request('GET', path, undefined, '*/*', { ...(signal !== undefined && { signal }) })
  }

  /** Sends a file with a PUT request whose response has no content. */
  async upload(path: string, content: Buffer): Promise<void> {
    const response = await this.#request('PUT', path, content, 'application/json', { type: BINARY })
    response.resume()
  }

  /** Sends a file of any length with a POST request. */
  async postFile<T>(path: string, content: Readable): Promise<T> {
    return this.#read<T>(await this.#request('POST', path, content, 'application/json', { type: BINARY }))
  }

  /** Sends a DELETE request. */
  async delete(path: string): Promise<void> {
    await this.#ask('DELETE', path)
  }

  /** Sends a POST request and follows its events up to `complete`. @throws the fault of an `error` event */
  async postWithProgress<T>(path: string, body: unknown, progress: (message: string) => void): Promise<T> {
    return this.#withProgress('POST', path, body, progress)
  }

  /** Like `postWithProgress`, as a GET request. */
  async getWithProgress<T>(path: string, progress: (message: string) => void): Promise<T> {
    return this.#withProgress('GET', path, undefined, progress)
  }

  async #withProgress<T>(
    method: string,
    path: string,
    body: unknown,
    progress: (message: string) => void,
  ): Promise<T> {
    const response = await this.#request(method, path, textOf(body), 'text/event-stream')
    // Short operations and earlier server versions respond without progress.
    if (response.headers['content-type']?.startsWith('application/json') === true)
      return this.#read<T>(response)
    let completed: T | undefined
    let failure: Fault | undefined
    for await (const { event, data } of readEvents(response.setEncoding('utf8'))) {
      const content: unknown = JSON.parse(data)
      if (event === 'progress') progress((content as { message: string }).message)
      else if (event === 'complete') completed = content as T
      else if (event === 'error') failure = toFault(500, content as ErrorBody)
    }
    if (failure !== undefined) throw failure
    if (completed === undefined) throw unreachable(this.#server, 'the response ended early')
    return completed
  }

  /** Follows a stream of events that ends only when the server stops. @throws SERVER_UNREACHABLE when the stream ends */
  async follow(
    path: string,
    onEvent: (event: string, content: unknown, id: string | undefined) => void,
    options: {
      readonly signal?: AbortSignal
      /** ID of the last event that an earlier stream received. */
      readonly lastEventId?: string | undefined
      /** @param lastEventId from which to continue if no event arrives, where the server reports it */
      readonly onOpen?: (lastEventId: string | undefined) => void
    } = {},
  ): Promise<never> {
    const response = await this.#request('GET', path, undefined, 'text/event-stream', options)
    endWhenSilent(response)
    options.onOpen?.(response.headers[LAST_EVENT_ID_HEADER]?.toString())
    try {
      for await (const { event, data, id } of readEvents(response.setEncoding('utf8')))
        onEvent(event, JSON.parse(data), id)
    } catch (error) {
      throw unreachable(this.#server, messageOf(error))
    }
    throw unreachable(this.#server, 'the stream ended')
  }

  /** Sends a request; resolves with undefined for a response without content. */
  async #ask<T>(method: string, path: string, signal?: AbortSignal, body?: unknown): Promise<T> {
    const response = await this.#request(method, path, textOf(body), 'application/json', {
      ...(signal !== undefined && { signal }),
    })
    if (response.statusCode !== 204) return this.#read<T>(response)
    response.resume()
    return undefined as T
  }

  async #read<T>(response: IncomingMessage): Promise<T> {
    const answer = parseJson(answerSchema, await text(response))
    if (answer === undefined) throw unreachable(this.#server, 'the response is not from a workspace server')
    return answer as T
  }

  async #request(
    method: string,
    path: string,
    body: string | Buffer | Readable | undefined,
    accept: string,
    { type = 'application/json', signal, lastEventId }: RequestSettings = {},
  ): Promise<IncomingMessage> {
    const headers = {
      accept,
      ...(body !== undefined && { 'content-type': type }),
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    }
    const options = { method, headers, ...(signal !== undefined && { signal }) }
    const response = await responseTo(this.#server, path, options, body)
    const { statusCode = 500 } = response
    if (statusCode < 300) return response
    throw faultFromAnswer(statusCode, await text(response))
  }
}

function textOf(body: unknown): string | undefined {
  return body === undefined ? undefined : JSON.stringify(body)
}
