import { createParser } from 'eventsource-parser'
import type { Fault } from '../../../lib/errors/fault.ts'
import { messageOf } from '../../../lib/errors/message.ts'
import {
  authorizationOf,
  type ErrorBody,
  faultFromAnswer,
  type ServerAddress,
  toFault,
  unreachable,
} from './server-address.ts'

/** Speaks the REST API. Throws the server's own faults, and SERVER_UNREACHABLE when none answers. */
export class WorkspaceClient {
  readonly #server: ServerAddress

  constructor(server: ServerAddress) {
    this.#server = server
  }

  async get<T>(path: string, signal?: AbortSignal): Promise<T> {
    return (await this.#request('GET', path, undefined, undefined, signal)).json() as Promise<T>
  }

  async post<T>(path: string): Promise<T> {
    return (await this.#request('POST', path)).json() as Promise<T>
  }

  async delete(path: string): Promise<void> {
    await this.#request('DELETE', path)
  }

  /** Posts and follows the answer's events to its last one, `complete`; an `error` event is thrown as a fault. */
  async postWithProgress<T>(path: string, body: unknown, progress: (message: string) => void): Promise<T> {
    const response = await this.#request('POST', path, body, 'text/event-stream')
    let completed: T | undefined
    let failure: Fault | undefined
    await readEvents(response, (event, content) => {
      if (event === 'progress') progress((content as { message: string }).message)
      else if (event === 'complete') completed = content as T
      else if (event === 'error') failure = toFault(500, content as ErrorBody)
    })
    if (failure !== undefined) throw failure
    if (completed === undefined) throw unreachable(this.#server, 'it ended the answer early')
    return completed
  }

  /** Follows a stream of events, which ends only with the server: then throws SERVER_UNREACHABLE. */
  async follow(path: string, onEvent: (event: string, content: unknown) => void): Promise<never> {
    const response = await this.#request('GET', path, undefined, 'text/event-stream')
    try {
      await readEvents(response, onEvent)
    } catch (error) {
      throw unreachable(this.#server, causeOf(error))
    }
    throw unreachable(this.#server, 'it ended the stream')
  }

  async #request(
    method: string,
    path: string,
    body?: unknown,
    accept = 'application/json',
    signal?: AbortSignal,
  ): Promise<Response> {
    const headers: Record<string, string> = { accept }
    if (body !== undefined) headers['content-type'] = 'application/json'
    Object.assign(headers, authorizationOf(this.#server))
    let response: Response
    try {
      response = await fetch(new URL(path, this.#server.url), {
        method,
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(signal !== undefined && { signal }),
      })
    } catch (error) {
      throw unreachable(this.#server, causeOf(error))
    }
    if (response.ok) return response
    throw faultFromAnswer(response.status, await response.text())
  }
}

async function readEvents(
  response: Response,
  onEvent: (event: string, content: unknown) => void,
): Promise<void> {
  const parser = createParser({
    onEvent: ({ event, data }) => onEvent(event ?? 'message', JSON.parse(data)),
  })
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) parser.feed(decoder.decode(chunk, { stream: true }))
}

/** fetch says only that it failed; why is in the cause. */
function causeOf(error: unknown): string {
  return messageOf(error instanceof Error && error.cause ? error.cause : error)
}
