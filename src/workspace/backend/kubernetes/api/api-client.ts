import { randomUUID } from 'node:crypto'
import { Agent, type IncomingMessage, request as httpRequest } from 'node:http'
import { Agent as TlsAgent, request as httpsRequest } from 'node:https'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import type { Static, TSchema } from 'typebox'
import { Fault } from '../../../../lib/errors/fault.ts'
import { messageOf } from '../../../../lib/errors/message.ts'
import { complaint, fits } from '../../../../lib/schema/parse-json.ts'
import { Type } from '../../../../lib/schema/type.ts'
import { fault, unavailable } from '../../../errors.ts'
import type { ClusterAccess } from './cluster-access.ts'
import { metadataSchema } from './objects.ts'

const PAGE = 500
const ANSWER_TIMEOUT_MS = 30_000
const FIRST_RETRY_MS = 200
const LAST_RETRY_MS = 5_000
/** Longer than an API server takes to restart. */
const RETRY_FOR_MS = 45_000
const MAX_SOCKETS = 32
/** The server is busy or shutting down and has done nothing. */
const RETRIED = new Set([429, 503])
/** Marks a creation, which distinguishes its repetition after a lost answer from another client's. */
const CREATION = 'workspace.dev/creation'

const statusSchema = Type.Object({
  message: Type.Optional(Type.String()),
  reason: Type.Optional(Type.String()),
})
const listSchema = Type.Object({
  metadata: Type.Object({
    resourceVersion: Type.Optional(Type.String()),
    continue: Type.Optional(Type.String()),
  }),
  items: Type.Array(Type.Object({})),
})
const objectSchema = Type.Object({ metadata: metadataSchema })

/** A refusal of the API server. */
export class ApiFailure extends Fault<'BACKEND_ERROR'> {
  readonly status: number
  readonly reason: string

  constructor(status: number, reason: string, message: string) {
    super('BACKEND_ERROR', 'internal', message)
    this.status = status
    this.reason = reason
  }
}

/** Query parameters of a request. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>

interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  readonly path: string
  readonly query?: Query
  readonly body?: unknown
  readonly contentType?: string
  readonly signal?: AbortSignal | undefined
}

/** An object to create. */
interface NewObject extends Readonly<Record<string, unknown>> {
  readonly metadata: {
    readonly name: string
    readonly annotations?: Readonly<Record<string, string>>
  }
}

/** A page-wise list of objects. */
export interface ObjectList<T> {
  readonly items: readonly T[]
  readonly resourceVersion: string
}

/** Times after which the client gives up; the defaults suit clusters. */
export interface ApiTiming {
  readonly retryForMs?: number
  readonly answerTimeoutMs?: number
}

/**
 * Client of a cluster's API server. Repeats requests that the server was too busy for, or whose connection was lost, with growing and
 * random delays.
 *
 * @throws ApiFailure when the server refuses
 * @throws BACKEND_UNAVAILABLE when it does not respond
 */
export class ApiClient {
  readonly #access: ClusterAccess
  readonly #timing: Required<ApiTiming>
  readonly #agent: Agent

  constructor(access: ClusterAccess, timing: ApiTiming = {}) {
    this.#access = access
    this.#timing = { retryForMs: RETRY_FOR_MS, answerTimeoutMs: ANSWER_TIMEOUT_MS, ...timing }
    const options = { keepAlive: true, maxSockets: MAX_SOCKETS, scheduling: 'lifo' } as const
    const { ca, certificate, key } = access
    const tls = {
      ...(ca !== undefined && { ca }),
      ...(certificate !== undefined && { cert: certificate }),
      ...(key !== undefined && { key }),
    }
    this.#agent = access.url.startsWith('https:') ? new TlsAgent({ ...options, ...tls }) : new Agent(options)
  }

  close(): void {
    this.#agent.destroy()
  }

  /** Returns an object, or undefined if it does not exist. */
  async find<S extends TSchema>(
    schema: S,
    path: string,
    signal?: AbortSignal,
  ): Promise<Static<S> | undefined> {
    return unlessMissing(this.#call({ method: 'GET', path, signal }).then((found) => checked(schema, found)))
  }

  /**
   * Creates an object. A repetition after a lost answer returns what the first attempt created.
   *
   * @throws ApiFailure 409 when another object of that name exists
   */
  async create<S extends TSchema>(
    schema: S,
    path: string,
    body: NewObject,
    signal?: AbortSignal,
  ): Promise<Static<S>> {
    const creation = randomUUID()
    const { metadata } = body
    const annotated = { ...metadata, annotations: { ...metadata.annotations, [CREATION]: creation } }
    try {
      const request = { method: 'POST', path, body: { ...body, metadata: annotated }, signal } as const
      return checked(schema, await this.#call(request))
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.reason !== 'AlreadyExists') throw error
      const existing = await this.find(schema, `${path}/${metadata.name}`, signal)
      if (fits(objectSchema, existing) && existing.metadata.annotations?.[CREATION] === creation)
        return existing
      throw error
    }
  }

  /** Changes an object with a JSON merge patch; its `resourceVersion` makes it fail when another changed the object. */
  async patch<S extends TSchema>(schema: S, path: string, body: unknown): Promise<Static<S>> {
    const contentType = 'application/merge-patch+json'
    return checked(schema, await this.#call({ method: 'PATCH', path, body, contentType }))
  }

  /** Deletes the object with this UID, never one that has since been created under its name. Returns whether it existed. */
  async delete(path: string, uid: string, graceS?: number): Promise<boolean> {
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      preconditions: { uid },
      ...(graceS !== undefined && { gracePeriodSeconds: graceS }),
    }
    try {
      return (await unlessMissing(this.#call({ method: 'DELETE', path, body }))) !== undefined
    } catch (error) {
      // Another object has that name now.
      if (error instanceof ApiFailure && error.status === 409) return false
      throw error
    }
  }

  /** Lists objects in pages, of one state of the cluster: an expired page begins the list again. */
  async list<S extends TSchema>(
    schema: S,
    path: string,
    query: Query,
    signal?: AbortSignal,
  ): Promise<ObjectList<Static<S>>> {
    const items: Static<S>[] = []
    let next: string | undefined
    for (;;) {
      const page = await this.#call({
        method: 'GET',
        path,
        query: { ...query, limit: PAGE, continue: next },
        signal,
      }).catch((error: unknown) => {
        if (error instanceof ApiFailure && error.status === 410 && next !== undefined) return undefined
        throw error
      })
      if (page === undefined) {
        items.length = 0
        next = undefined
        continue
      }
      const { metadata, items: found } = checked(listSchema, page)
      for (const item of found) items.push(checked(schema, item))
      next = metadata.continue
      if (next === undefined || next === '') return { items, resourceVersion: metadata.resourceVersion ?? '' }
    }
  }

  /** Opens a response that the caller reads, which is destroyed when nothing arrives for `idleMs`. */
  async open(path: string, query: Query, signal: AbortSignal, idleMs = 0): Promise<IncomingMessage> {
    const response = await this.#send({ method: 'GET', path, query, signal }, idleMs)
    if (response.statusCode === 200) return response
    throw await failureOf(response, path)
  }

  async #call(request: ApiRequest): Promise<unknown> {
    const endMs = performance.now() + this.#timing.retryForMs
    for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)) {
      const result = await this.#once(request)
      if (result.is === 'answer') return result.value
      request.signal?.throwIfAborted()
      // Spread out, so that the requests of many workspaces do not return at once.
      const waitMs = Math.max(result.afterMs, retryMs * (0.5 + Math.random()))
      if (performance.now() + waitMs > endMs) throw result.error
      await delay(waitMs, undefined, request.signal === undefined ? {} : { signal: request.signal })
    }
  }

  async #once(
    request: ApiRequest,
  ): Promise<
    | { readonly is: 'answer'; readonly value: unknown }
    | { readonly is: 'failed'; readonly error: unknown; readonly afterMs: number }
  > {
    let response: IncomingMessage
    let answer: string
    try {
      response = await this.#send(request, this.#timing.answerTimeoutMs)
      answer = await text(response)
    } catch (error) {
      request.signal?.throwIfAborted()
      const why = unavailable(
        `the cluster at ${this.#access.url} does not respond: ${messageOf(error)}`,
        error,
      )
      return { is: 'failed', error: why, afterMs: 0 }
    }
    const { statusCode: status = 0, headers } = response
    if (status < 300) return { is: 'answer', value: parsed(answer) }
    const error = failure(status, answer, request.path)
    if (!RETRIED.has(status)) throw error
    return { is: 'failed', error, afterMs: Number(headers['retry-after'] ?? 0) * 1_000 || 0 }
  }

  async #send(request: ApiRequest, idleMs: number): Promise<IncomingMessage> {
    const { method, path, query = {}, body, contentType = 'application/json', signal } = request
    const url = new URL(this.#access.url + path)
    for (const [key, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(key, String(value))
    const token = await this.#access.token?.()
    const payload = body === undefined ? undefined : JSON.stringify(body)
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest
    return new Promise((resolve, reject) => {
      const sent = send(url, {
        method,
        agent: this.#agent,
        ...(signal !== undefined && { signal }),
        headers: {
          accept: 'application/json',
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(payload !== undefined && {
            'content-type': contentType,
            'content-length': Buffer.byteLength(payload),
          }),
        },
      })
      if (idleMs > 0)
        sent.setTimeout(idleMs, () => sent.destroy(new Error('it has been silent for too long')))
      sent.once('response', resolve)
      sent.on('error', reject)
      sent.end(payload)
    })
  }
}

/** Resolves to undefined instead of failing when the object does not exist. */
async function unlessMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (error instanceof ApiFailure && error.status === 404) return undefined
    throw error
  }
}

/** Validates an object of the API server. @throws BACKEND_ERROR when it is not of the expected form */
export function checked<S extends TSchema>(schema: S, value: unknown): Static<S> {
  if (fits(schema, value)) return value
  throw fault(
    'BACKEND_ERROR',
    `the cluster returned an object that is not valid: ${complaint(schema, value)}`,
  )
}

async function failureOf(response: IncomingMessage, path: string): Promise<ApiFailure> {
  return failure(response.statusCode ?? 0, await text(response), path)
}

function failure(status: number, answer: string, path: string): ApiFailure {
  const value = parsed(answer)
  const { reason = '', message = answer.slice(0, 200) } = fits(statusSchema, value) ? value : {}
  return new ApiFailure(status, reason, `the cluster refused ${path} with status ${status}: ${message}`)
}

function parsed(answer: string): unknown {
  try {
    return JSON.parse(answer)
  } catch {
    return undefined
  }
}
