import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Static, TSchema } from 'typebox'
import { abortOnClose } from '../../../../lib/http/abort-on-close.ts'
import { isFault } from '../../../../lib/errors/fault.ts'
import { LONGEST_DELAY_MS } from '../../../../lib/clock/clock.ts'
import { checkMessage, ConnectStream, readMessage } from './connect-stream.ts'

/** Config of routes that check the API key or the sandbox's token themselves. */
export const OWN_ADMISSION = { needsNoToken: true } as const
/** Hidden from this server's own API description: the API is E2B's. */
export const HIDDEN = { hide: true } as const

const STREAMED = 'application/connect+json'

/** A method's call whose response is a stream. */
export interface StreamCall<T> {
  readonly message: T
  readonly stream: ConnectStream
  readonly request: FastifyRequest
  /** Aborts when the client disconnects or its time is up. */
  readonly ended: AbortSignal
  /** The time that the client allows; undefined for no limit. */
  readonly timeoutMs: number | undefined
}

/**
 * A service of the Connect protocol, with messages in JSON. By hand rather than with the protocol's library: E2B's SDKs
 * pin JSON without compression, of which the framing is all that remains. Source: connectrpc.com/docs/protocol
 */
export class ConnectService {
  readonly #scope: FastifyInstance
  readonly #name: string
  readonly #streams = new Set<ConnectStream>()

  constructor(scope: FastifyInstance, name: string) {
    this.#scope = scope
    this.#name = name
    // Fastify waits for all responses before it closes.
    scope.addHook('preClose', (done) => {
      for (const stream of this.#streams)
        stream.end({ code: 'unavailable', message: 'the server is stopping' })
      done()
    })
  }

  /** Accepts streamed messages in a scope. */
  static acceptMessages(scope: FastifyInstance): void {
    scope.addContentTypeParser(STREAMED, (_request, body, done) => done(null, body))
  }

  /** Registers a method with one request message and one response. */
  unary<S extends TSchema>(
    method: string,
    schema: S,
    handle: (message: Static<S>, request: FastifyRequest, gone: AbortSignal) => Promise<unknown>,
  ): void {
    this.#scope.post(this.#path(method), { config: OWN_ADMISSION, schema: HIDDEN }, async (request, reply) =>
      handle(checkMessage(request.body ?? {}, schema), request, abortOnClose(reply)),
    )
  }

  /** Registers a method with one request message and a stream of responses. @param ping keeps the connection alive */
  stream<S extends TSchema>(
    method: string,
    schema: S,
    ping: unknown,
    handle: (call: StreamCall<Static<S>>) => Promise<void>,
  ): void {
    this.#scope.post<{ readonly Body: Readable }>(
      this.#path(method),
      { config: OWN_ADMISSION, schema: HIDDEN },
      async (request, reply) => {
        // hyper, which the SDK for Python uses, drops what is left of its request when the response begins.
        const read = await settled(readMessage(request.body, schema))
        const stream = new ConnectStream(reply, ping)
        this.#streams.add(stream)
        const end = new AbortController()
        reply.raw.once('close', () => end.abort())
        const timeoutMs = timeoutOf(request)
        const limit = timeoutMs === undefined ? undefined : setTimeout(() => end.abort(), timeoutMs).unref()
        try {
          const message = read()
          await handle({ message, stream, request, ended: end.signal, timeoutMs })
          const isLate = end.signal.aborted && !reply.raw.destroyed
          stream.end(isLate ? { code: 'deadline_exceeded', message: 'the timeout has ended' } : undefined)
        } catch (error) {
          if (!isFault(error)) request.log.error({ err: error }, 'a stream failed')
          stream.fail(error)
        } finally {
          clearTimeout(limit)
          this.#streams.delete(stream)
        }
        return reply
      },
    )
  }

  /** Registers a method with a stream of request messages, which may take long, and one response. */
  upload(method: string, handle: (body: Readable, request: FastifyRequest) => Promise<unknown>): void {
    this.#scope.post<{ readonly Body: Readable }>(
      this.#path(method),
      { config: { ...OWN_ADMISSION, hasLongBody: true }, schema: HIDDEN },
      async (request, reply) => {
        const answer = await settled(handle(request.body, request))
        const stream = new ConnectStream(reply, {})
        try {
          void stream.send(answer())
          stream.end()
        } catch (error) {
          stream.fail(error)
        }
        return reply
      },
    )
  }

  #path(method: string): string {
    return `/${this.#name}/${method}`
  }
}

/** Waits for work, and returns a function with its result, or one that throws. */
async function settled<T>(work: Promise<T>): Promise<() => T> {
  try {
    const result = await work
    return () => result
  } catch (error) {
    return () => {
      throw error
    }
  }
}

function timeoutOf({ headers }: FastifyRequest): number | undefined {
  const header = String(headers['connect-timeout-ms'] ?? '')
  return /^\d{1,10}$/.test(header) ? Math.min(Number(header), LONGEST_DELAY_MS) : undefined
}
