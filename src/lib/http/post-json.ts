import type { IncomingMessage } from 'node:http'
import { requestFor } from './node-http.ts'

/** Posts JSON to a URL over a new connection. Resolves with the response, whose body the caller reads or destroys. */
export function postJson(
  url: string,
  headers: Readonly<Record<string, string>>,
  json: string,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const length = String(Buffer.byteLength(json))
  const all = { ...headers, 'content-type': 'application/json', 'content-length': length }
  return new Promise((resolve, reject) => {
    requestFor(new URL(url))(url, { method: 'POST', headers: all, signal, agent: false }, resolve)
      .on('error', reject)
      .end(json)
  })
}
