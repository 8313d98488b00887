import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Duplex, pipeline } from 'node:stream'
import { type Fault, isFault } from '../../../../lib/errors/fault.ts'
import type { HeaderPairs } from '../../../../lib/http/forwarded-headers.ts'
import { request as httpRequest } from '../../../../lib/http/node-http.ts'
import { fault } from '../../../errors.ts'

const ANSWER_MS = 120_000

interface Forwarded {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** A connection to the port, for this request alone. */
  readonly connection: Duplex
  readonly path: string
  readonly headers: HeaderPairs
  readonly toBrowser: (answer: IncomingMessage) => HeaderPairs
  /** Answers what went wrong before there was an answer. */
  readonly refuse: (fault: Fault) => void
}

/** Hands a request on, body and answer as they come, and breaks one side off when the other breaks off. */
export function forwardRequest({
  request,
  response,
  connection,
  path,
  headers,
  toBrowser,
  refuse,
}: Forwarded): void {
  const hasBody =
    request.headers['transfer-encoding'] !== undefined || request.headers['content-length'] !== undefined
  const upstream = httpRequest({
    method: request.method,
    path,
    headers: [
      ...headers,
      ...(request.headers['transfer-encoding'] === undefined ? [] : [['Transfer-Encoding', 'chunked']]),
      ['Connection', 'close'],
    ].flat(),
    createConnection: () => connection,
  })
  const limit = setTimeout(() => upstream.destroy(noAnswer()), ANSWER_MS)
  response.once('close', () => {
    clearTimeout(limit)
    upstream.destroy()
    connection.destroy()
  })
  response.on('error', () => undefined)
  upstream.on('response', (answered) => {
    clearTimeout(limit)
    try {
      response.writeHead(answered.statusCode ?? 502, answered.statusMessage, toBrowser(answered).flat())
    } catch (error) {
      upstream.destroy()
      return refuse(fault('CONNECT_FAILED', 'the port answered with a header that is not valid', error))
    }
    response.flushHeaders()
    // What breaks off must not look complete.
    pipeline(answered, response, () => undefined)
  })
  upstream.on('error', (error) => {
    clearTimeout(limit)
    if (response.headersSent || response.destroyed) response.destroy()
    else if (isFault(error)) refuse(error)
    else refuse(fault('CONNECT_FAILED', `the port gave no answer: ${error.message}`, error))
  })
  if (hasBody) pipeline(request, upstream, () => undefined)
  else upstream.end()
}

function noAnswer(): Fault {
  return fault('CONNECT_FAILED', `the port gave no answer within ${ANSWER_MS / 1_000} s`)
}
