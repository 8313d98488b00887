import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import { createOutput, type Output } from '../../../lib/cli/output.ts'
import { defineFaults, Fault } from '../../../lib/errors/fault.ts'
import { messageOf } from '../../../lib/errors/message.ts'
import { isHttpUrl } from '../../../lib/http/http-url.ts'
import { requestFor } from '../../../lib/http/node-http.ts'
import { kindOfStatus } from '../../../lib/http/status.ts'
import { parseJson } from '../../../lib/schema/parse-json.ts'
import { Type } from '../../../lib/schema/type.ts'
import { readEvents } from '../../../lib/sse/read-events.ts'
import { errorSchema } from '../../api/error.ts'

const clientFault = defineFaults({ SUPERVISOR_UNREACHABLE: 'unavailable', SERVER_URL_INVALID: 'invalid' })

/** An event of a stream of the API. */
export interface StreamEvent {
  readonly event: string
  readonly id: string | undefined
  readonly data: unknown
}

/** Every response of the API is an object. */
const answerSchema = Type.Object({})

/**
 * Client of a supervisor's API.
 *
 * @throws the error of the supervisor's response, or SUPERVISOR_UNREACHABLE when none responds
 */
export class SupervisorClient {
  readonly url: string
  readonly #token: string | undefined

  constructor(url: string, token: string | undefined) {
    this.url = url
    this.#token = token
  }

  get<T>(path: string, signal?: AbortSignal): Promise<T> {
    return this.#ask<T>('GET', path, undefined, signal)
  }

  post<T>(path: string, body?: object): Promise<T> {
    return this.#ask<T>('POST', path, body)
  }

  /** Follows a stream, starting after an event id, until it ends or the signal aborts. */
  async follow(
    path: string,
    onEvent: (event: StreamEvent) => void,
    { signal, afterId }: { readonly signal: AbortSignal; readonly afterId?: string },
  ): Promise<void> {
    const headers = {
      accept: 'text/event-stream',
      ...(afterId !== undefined && { 'last-event-id': afterId }),
    }
    const response = await this.#request('GET', path, headers, signal).catch((error: unknown) => {
      if (signal.aborted) return undefined
      throw error
    })
    if (response === undefined) return
    try {
      for await (const { event, id, data } of readEvents(response.setEncoding('utf8')))
        onEvent({ event, id, data: JSON.parse(data) })
    } catch (error) {
      if (!signal.aborted) throw this.#unreachable(messageOf(error))
    }
  }

  async #ask<T>(method: string, path: string, body?: object, signal?: AbortSignal): Promise<T> {
    const response = await this.#request(method, path, { accept: 'application/json' }, signal, body)
    const answer = parseJson(answerSchema, await text(response))
    if (answer === undefined) throw this.#unreachable('the server there is not a supervisor')
    return answer as T
  }

  async #request(
    method: string,
    path: string,
    accepting: Readonly<Record<string, string>>,
    signal?: AbortSignal,
    body?: object,
  ): Promise<IncomingMessage> {
    const url = new URL(`/api/v1${path}`, this.url)
    const headers = {
      ...accepting,
      ...(this.#token !== undefined && { authorization: `Bearer ${this.#token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    }
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      requestFor(url)(url, {
        method,
        headers,
        ...(signal && { signal }),
      })
        .on('response', resolve)
        .on('error', (error) => reject(this.#unreachable(messageOf(error))))
        .end(body && JSON.stringify(body))
    })
    const { statusCode = 500 } = response
    if (statusCode < 300) return response
    throw faultFrom(statusCode, await text(response))
  }

  #unreachable(why: string): Fault {
    return clientFault(
      'SUPERVISOR_UNREACHABLE',
      `no supervisor responds at ${this.url} (${why}); start it with "supervisor up", or select another with --url`,
    )
  }
}

function faultFrom(status: number, body: string): Fault {
  const kind = kindOfStatus(status)
  const answer = parseJson(errorSchema, body)
  return answer === undefined
    ? new Fault('INTERNAL_ERROR', kind, `the supervisor responded with status ${status}`)
    : new Fault(answer.code, kind, answer.error)
}

/** Options that every command accepts. */
export interface GlobalOptions {
  readonly config?: string
  readonly url?: string
  readonly tokenFile?: string
  readonly json?: boolean
  readonly table?: boolean
}

/** Context of every command that talks to a supervisor. */
export interface CliContext {
  readonly client: SupervisorClient
  readonly output: Output
}

/**
 * Finds the supervisor: by --url, by SUPERVISOR_URL, or by the record for this configuration in the user's own
 * directory. The configuration itself is never read here, because it may be untrusted (threat V9).
 */
export async function contextOf(command: Command): Promise<CliContext> {
  const options: GlobalOptions = command.optsWithGlobals()
  const address = await findAddress(options, process.env)
  const { readToken } = await import('../../../lib/fs/token-file.ts')
  const token = address.tokenFile === null ? undefined : await readToken(address.tokenFile)
  return { client: new SupervisorClient(address.url, token), output: createOutput(options) }
}

interface Address {
  readonly url: string
  readonly tokenFile: string | null
}

async function findAddress(options: GlobalOptions, environment: NodeJS.ProcessEnv): Promise<Address> {
  const url = options.url ?? environment['SUPERVISOR_URL']
  const tokenFile = options.tokenFile ?? environment['SUPERVISOR_API__TOKEN_FILE']
  if (url !== undefined && !isHttpUrl(url))
    throw clientFault(
      'SERVER_URL_INVALID',
      `${options.url === undefined ? 'SUPERVISOR_URL' : '--url'} is "${url}", which is not a URL such as http://127.0.0.1:5555`,
    )
  if (url !== undefined && tokenFile !== undefined) return { url, tokenFile }
  const [{ findSupervisorConfig }, { findServerRecord }] = await Promise.all([
    import('../../config-file/find-config.ts'),
    import('../../../lib/discovery/server-record.ts'),
  ])
  const { file, recordDir } = findSupervisorConfig(environment, { file: options.config })
  const record = await findServerRecord(recordDir)
  // The token is never sent to any other address.
  if (url !== undefined)
    return { url, tokenFile: record !== undefined && isSameServer(record.url, url) ? record.tokenFile : null }
  if (record !== undefined) return record
  throw clientFault(
    'SUPERVISOR_UNREACHABLE',
    `no supervisor is running for ${file ?? process.cwd()}; start it with "supervisor up", or select another with --url`,
  )
}

function isSameServer(recorded: string, given: string): boolean {
  return new URL(recorded).origin === new URL(given).origin
}
