import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { ApiClient, type ApiTiming } from '../../../src/workspace/backend/kubernetes/api/api-client.ts'

/** A request to a simulated API server. */
export interface FakeRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly body: string
}

/** A simulated API server: a test answers each request itself. */
export async function fakeApi(
  answer: (request: FakeRequest, response: ServerResponse, count: number) => void,
  timing: ApiTiming = {},
): Promise<{ readonly client: ApiClient; readonly requests: readonly FakeRequest[] }> {
  const requests: FakeRequest[] = []
  const receive = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(incoming)
    const url = new URL(incoming.url ?? '/', 'http://localhost')
    const request = { method: incoming.method ?? '', path: url.pathname, query: url.searchParams, body }
    answer(request, response, requests.push(request))
  }
  const server = createServer((incoming, response) => void receive(incoming, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const client = new ApiClient({ url: `http://127.0.0.1:${port}` }, timing)
  onTestFinished(() => {
    client.close()
    server.closeAllConnections()
    server.close()
  })
  return { client, requests }
}

/** Returns an object with only metadata. */
export function objectOf(name: string, resourceVersion = '1', more: object = {}) {
  return { metadata: { name, uid: `uid-${name}`, resourceVersion, ...more } }
}

/** Sends JSON. */
export function send(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

/** Sends a refusal as API servers do. */
export function refuse(
  response: ServerResponse,
  code: number,
  reason: string,
  headers: Record<string, string> = {},
): void {
  send(response, code, { kind: 'Status', code, reason, message: `refused: ${reason}` }, headers)
}
