import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { onTestFinished } from 'vitest'
import type { TestServer } from '../server/test-server.ts'

/** A service inside a workspace; the fake's workspaces run on this machine. */
export async function serveInside(listener: (asked: IncomingMessage, answer: ServerResponse) => unknown) {
  const inside = createServer((asked, answer) => void listener(asked, answer))
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    inside.closeAllConnections()
    inside.close()
  })
  return { inside, port: (inside.address() as { port: number }).port }
}

interface Asked {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

/** Sends a request for a host name that this machine's resolver need not know. */
export async function ask(
  server: TestServer,
  host: string,
  { path = '/', headers = {}, method, body }: Asked = {},
) {
  const asked = request({
    port: server.httpPort,
    host: '127.0.0.1',
    path,
    method,
    headers: { host, ...headers },
    maxHeaderSize: 100_000,
  })
  asked.end(body)
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  return { answer, status: answer.statusCode, headers: answer.headers }
}
