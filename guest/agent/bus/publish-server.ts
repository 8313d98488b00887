import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { isNamespace, isRecord, receivedToJson, RESERVED } from '../../../src/lib/envelope/envelope.ts'
import { isLocal } from '../../loopback.ts'
import type { PublishFailure, Uplink } from './uplink.ts'

const PORT = 498
const KEEP_ALIVE_MS = 60_000
/** Maximum number of pending connections. */
const BACKLOG = 4096
const MAX_BODY_BYTES = 1024 * 1024
const NDJSON = 'application/x-ndjson'

/** Error codes with their statuses. */
export const PUBLISH_CODES = {
  INVALID_BODY: 400,
  MISSING_NAMESPACE: 400,
  INVALID_NAMESPACE: 400,
  NAMESPACE_RESERVED: 403,
  FORBIDDEN_HOST: 403,
  ROUTE_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  REQUEST_TOO_LARGE: 413,
  INTERNAL_ERROR: 500,
  NO_CONNECTION: 503,
  OVERLOADED: 503,
  TIMEOUT: 504,
} as const

const FAILURES: Readonly<Record<PublishFailure, string>> = {
  NO_CONNECTION: 'the host cannot be reached',
  OVERLOADED: 'too many messages are waiting on the host; try again later',
  TIMEOUT: 'no listener on the host responded within 30 s',
  REQUEST_TOO_LARGE: 'the message exceeds the host’s limit (bus.max_message_bytes)',
}

/** An error response to a program. */
class Refusal extends Error {
  readonly code: keyof typeof PUBLISH_CODES

  constructor(code: keyof typeof PUBLISH_CODES, message: string) {
    super(message)
    this.code = code
  }
}

/** Serves `POST /v1/publish` on the loopback address, with which programs of this machine publish to the host's bus. */
export function servePublish(uplink: Uplink, port = PORT): Server {
  const server = createServer(
    { requestTimeout: 60_000, keepAliveTimeout: KEEP_ALIVE_MS },
    (request, response) => {
      void answer(uplink, request, response).catch((error: unknown) => refuse(response, error))
    },
  )
  server.on('error', (error) => console.error(`workspace-agent: port ${port}: ${error.message}`))
  return server.listen({ port, host: '127.0.0.1', backlog: BACKLOG })
}

async function answer(uplink: Uplink, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (!isLocal(request))
    throw new Refusal(
      'FORBIDDEN_HOST',
      'only programs of this machine can publish, through the loopback address',
    )
  if (request.url !== '/v1/publish')
    throw new Refusal('ROUTE_NOT_FOUND', 'unknown route; use POST /v1/publish')
  if (request.method !== 'POST') throw new Refusal('METHOD_NOT_ALLOWED', '/v1/publish supports only POST')
  const text = await readBody(request)
  const { namespace, type, payload } = parse(text)
  if (type === 'event') {
    const why = uplink.event(namespace, payload)
    if (why !== undefined) throw failure(why)
    return void response.writeHead(202).end()
  }
  const isStream = (request.headers.accept ?? '').includes(NDJSON)
  await new Promise<void>((resolve, reject) => {
    const giveUp = uplink.request(namespace, payload, {
      onAnswer(envelope) {
        const json = receivedToJson(envelope)
        if (isStream && !response.headersSent) response.writeHead(200, { 'content-type': NDJSON })
        if (isStream) response.write(`${json}\n`)
        if (envelope.isFinal !== true) return
        if (isStream) response.end()
        else response.writeHead(200, { 'content-type': 'application/json' }).end(json)
        resolve()
      },
      fail: (why) => reject(failure(why)),
    })
    response.once('close', giveUp)
  })
}

async function readBody(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > MAX_BODY_BYTES)
      throw new Refusal('REQUEST_TOO_LARGE', `the message exceeds ${MAX_BODY_BYTES} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

function parse(text: string): {
  readonly namespace: string
  readonly type: 'request' | 'event'
  readonly payload: Readonly<Record<string, unknown>>
} {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw new Refusal('INVALID_BODY', 'the body is not valid JSON')
  }
  if (!isRecord(body)) throw new Refusal('INVALID_BODY', 'the body must be a JSON object')
  const { namespace, type = 'request', payload = {} } = body
  if (namespace === undefined || namespace === '')
    throw new Refusal('MISSING_NAMESPACE', 'namespace is missing; set the namespace of the listener')
  if (!isNamespace(namespace))
    throw new Refusal('INVALID_NAMESPACE', 'namespace must be 1 to 128 letters, digits and . _ : -')
  if (namespace.startsWith(RESERVED))
    throw new Refusal(
      'NAMESPACE_RESERVED',
      `namespaces that start with ${RESERVED} are reserved for the server`,
    )
  if (type !== 'request' && type !== 'event')
    throw new Refusal('INVALID_BODY', 'type must be request or event')
  if (!isRecord(payload)) throw new Refusal('INVALID_BODY', 'payload must be a JSON object')
  return { namespace, type, payload }
}

function failure(why: PublishFailure): Refusal {
  return new Refusal(why, FAILURES[why])
}

function refuse(response: ServerResponse, error: unknown): void {
  const refusal = error instanceof Refusal ? error : new Refusal('INTERNAL_ERROR', 'the agent failed')
  if (response.headersSent) return void response.destroy()
  const { code, message } = refusal
  // The rest of an oversized body is not read.
  response.writeHead(PUBLISH_CODES[code], { 'content-type': 'application/json', connection: 'close' })
  response.end(JSON.stringify({ error: { code, message } }))
}
