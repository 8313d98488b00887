import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { S3Store } from '../../../src/content/store/s3-store.ts'

/** How a service treats conditions of a write; `plain`: it compares ETags without their quotes. */
export type Conditions = 'honored' | 'plain' | 'refused' | 'ignored' | 'if-match ignored' | 'conflict'

/** Starts a service with the part of S3 that reads and writes objects. */
export async function fakeS3(conditions: Conditions) {
  const objects = new Map<string, Buffer>()
  const encodings = new Map<string, string | undefined>()
  const answer = (response: ServerResponse, status: number, code: string): void =>
    void response.writeHead(status).end(`<Error><Code>${code}</Code></Error>`)
  const put = async (key: string, request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(request)
    const old = objects.get(key)
    const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = request.headers
    const isConditional = ifMatch !== undefined || ifNoneMatch !== undefined
    if (isConditional && conditions === 'refused') return answer(response, 501, 'NotImplemented')
    if (isConditional && conditions === 'conflict') return answer(response, 409, 'ConditionalRequestConflict')
    if (conditions !== 'ignored') {
      if (ifNoneMatch === '*' && old !== undefined) return answer(response, 412, 'PreconditionFailed')
      if (ifMatch !== undefined && conditions !== 'if-match ignored') {
        if (old === undefined) return answer(response, 404, 'NoSuchKey')
        if (conditions === 'honored' && !ifMatch.startsWith('"'))
          return answer(response, 400, 'InvalidArgument')
        const etag = conditions === 'plain' ? etagOf(old).slice(1, -1) : etagOf(old)
        if (ifMatch !== etag) return answer(response, 412, 'PreconditionFailed')
      }
    }
    objects.set(key, body)
    encodings.set(key, request.headers['content-encoding'])
    response.writeHead(200, { etag: etagOf(body) }).end()
  }
  const server = createServer((request, response) => {
    const key = (request.url ?? '').replace(/\?.*/, '')
    if (request.method === 'PUT') return void put(key, request, response)
    const object = objects.get(key)
    if (object === undefined) return answer(response, 404, 'NoSuchKey')
    const encoding = encodings.get(key)
    response
      .writeHead(200, {
        etag: etagOf(object),
        'content-length': object.length,
        ...(encoding !== undefined && { 'content-encoding': encoding }),
      })
      .end(object)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const open = (hasConditionalWrites = true): S3Store =>
    new S3Store({
      type: 's3',
      bucket: 'docs',
      prefix: '',
      endpoint: `http://127.0.0.1:${port}`,
      region: 'us-east-1',
      isPathStyle: true,
      hasConditionalWrites,
      timeoutMs: 10_000,
    })
  return { open, text: (key: string) => objects.get(`/docs/${key}`)?.toString() }
}

function etagOf(bytes: Buffer): string {
  return `"${createHash('md5').update(bytes).digest('hex')}"`
}
