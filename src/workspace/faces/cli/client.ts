import { readFileSync } from 'node:fs'
import { createParser } from 'eventsource-parser'
import { Fault, type FaultKind } from '../../../lib/errors/fault.ts'
import { messageOf } from '../../../lib/errors/message.ts'
import { STATUS_OF_KIND } from '../../../lib/http/status.ts'

/** A workspace server as the CLI knows it. */
export interface ServerAddress {
  readonly name: string
  readonly url: string
  readonly tokenFile?: string | undefined
  /** Where its SSH server is, when not on the API's host and the port that the API tells. */
  readonly ssh?: { readonly host?: string | undefined; readonly port?: number | undefined } | undefined
}

/** Speaks the REST API. Throws the server's own faults, and SERVER_UNREACHABLE when none answers. */
export class WorkspaceClient {
  readonly #server: ServerAddress

  constructor(server: ServerAddress) {
    this.#server = server
  }

  async get<T>(path: string): Promise<T> {
    return (await this.#request('GET', path)).json() as Promise<T>
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
    const parser = createParser({
      onEvent({ event, data }) {
        const content: unknown = JSON.parse(data)
        if (event === 'progress') progress((content as { message: string }).message)
        else if (event === 'complete') completed = content as T
        else if (event === 'error') failure = toFault(500, content as { code: string; message: string })
      },
    })
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) parser.feed(decoder.decode(chunk, { stream: true }))
    if (failure !== undefined) throw failure
    if (completed === undefined) throw this.#unreachable('it ended the answer early')
    return completed
  }

  async #request(
    method: string,
    path: string,
    body?: unknown,
    accept = 'application/json',
  ): Promise<Response> {
    const headers: Record<string, string> = { accept }
    if (body !== undefined) headers['content-type'] = 'application/json'
    const { tokenFile, url } = this.#server
    if (tokenFile !== undefined) headers['authorization'] = `Bearer ${readFileSync(tokenFile, 'utf8').trim()}`
    let response: Response
    try {
      response = await fetch(new URL(path, url), {
        method,
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
    } catch (error) {
      throw this.#unreachable(messageOf(error instanceof Error && error.cause ? error.cause : error))
    }
    if (response.ok) return response
    const answer = (await response.json().catch(() => undefined)) as ErrorBody | undefined
    throw toFault(response.status, answer?.error)
  }

  #unreachable(why: string): Fault {
    const { name, url } = this.#server
    return new Fault(
      'SERVER_UNREACHABLE',
      'unavailable',
      `server ${name} at ${url} does not answer (${why}); start it with "workspace serve", or name another with WORKSPACE_URL`,
    )
  }
}

interface ErrorBody {
  readonly error?: { readonly code: string; readonly message: string }
}

function toFault(status: number, error: ErrorBody['error']): Fault {
  const kinds = Object.entries(STATUS_OF_KIND) as [FaultKind, number][]
  const kind = kinds.find(([, known]) => known === status)?.[0] ?? 'internal'
  return new Fault(error?.code ?? 'INTERNAL_ERROR', kind, error?.message ?? `the server answered ${status}`)
}
