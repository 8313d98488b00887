import { request as httpRequest } from '../../lib/http/node-http.ts'
import { framingHeaders } from '../../lib/http/proxy/framing.ts'
import { MAX_HEAD_BYTES } from '../../lib/http/head-limit.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { fault } from '../errors.ts'
import type { CapturedRequest } from './captured-request.ts'
import { REPLAY_HEADER } from './exchange.ts'

/** Sends a request through the proxy again. Resolves with the status of the response. @throws REPLAY_FAILED when it cannot be sent, and BODY_NOT_KEPT when a part of it was not stored */
export function replay(
  captured: CapturedRequest,
  proxy: { readonly host: string; readonly port: number },
): Promise<number> {
  const { id, body, method, url, lost } = captured
  if (lost !== undefined)
    throw fault('BODY_NOT_KEPT', `request ${id} cannot be sent again: ${lost}, and was not stored whole`)
  const framing = framingHeaders(
    body.length === 0 ? { is: 'none' } : { is: 'length', bytes: body.length },
    method,
  )
  const headers = [...captured.headers, [REPLAY_HEADER, String(id)], ...framing].flat()
  return new Promise((resolve, reject) => {
    const failed = (error: unknown): void =>
      reject(fault('REPLAY_FAILED', `request ${id} could not be sent again: ${messageOf(error)}`, error))
    httpRequest(
      {
        host: proxy.host,
        port: proxy.port,
        method,
        path: url,
        headers,
        agent: false,
        // The proxy adds headers to a response.
        maxHeaderSize: 2 * MAX_HEAD_BYTES,
      },
      (response) => {
        response.on('error', failed)
        response.resume()
        response.on('end', () => resolve(response.statusCode ?? 0))
      },
    )
      .on('error', failed)
      .end(body)
  })
}
