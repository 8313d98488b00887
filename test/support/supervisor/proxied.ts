import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'

/** Request to the proxy; default a GET without a body. */
export interface ProxiedRequest {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Sends a request for the process `web` through a supervisor's proxy; `fetch` cannot set the host. */
export function askProxy(
  port: number | undefined,
  path: string,
  { method, headers, body }: ProxiedRequest = {},
): Promise<{ readonly status: number; readonly headers: IncomingMessage['headers']; readonly body: string }> {
  return new Promise((resolve, reject) => {
    request(
      { port, path, method, headers: { host: 'web.localhost', ...headers }, agent: false },
      (response) => {
        const { statusCode: status = 0, headers: answered } = response
        text(response).then((answer) => resolve({ status, headers: answered, body: answer }), reject)
      },
    )
      .on('error', reject)
      .end(body)
  })
}
