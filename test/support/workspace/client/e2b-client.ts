import { type IncomingMessage, request } from 'node:http'
import { encodeMessage } from '../../../../src/workspace/faces/http/e2b/connect-stream.ts'
import { call } from '../server/test-server.ts'

const PREFIX_BYTES = 5

/** Headers of requests to a sandbox. */
export type SandboxHeaders = Readonly<Record<string, string>>

/** Creates a sandbox; fails with the server's response when it cannot. */
export async function makeSandbox(url: string, body: object = {}, key = ''): Promise<SandboxHeaders> {
  const answer = await call(
    `${url}/e2b/v2/sandboxes`,
    'POST',
    { templateID: 'base', ...body },
    { 'x-api-key': key },
  )
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
  const { sandboxID, envdAccessToken } = answer.body as { sandboxID: string; envdAccessToken?: string }
  return {
    'e2b-sandbox-id': sandboxID,
    ...(envdAccessToken !== undefined && { 'x-access-token': envdAccessToken }),
  }
}

/** Sends a request; resolves with the response when it begins. */
export function open(
  url: string,
  body: unknown,
  headers: SandboxHeaders,
  method = 'POST',
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request(url, { method, headers: { 'content-type': 'application/json', ...headers } })
      .on('response', resolve)
      .on('error', reject)
      .end(typeof body === 'string' ? body : JSON.stringify(body))
  })
}

/** Reads a whole response. */
export async function textOf(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  return text
}

/** Parses the lines of a run of code. */
export const linesOf = (text: string): any[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

/** Sends bytes to a streaming method; resolves when the response begins. */
export function openStream(
  url: string,
  method: string,
  body: Buffer,
  headers: SandboxHeaders,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request(`${url}/e2b/${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/connect+json', ...headers },
    })
      .on('response', resolve)
      .on('error', reject)
      .end(body)
  })
}

/** Calls a streaming method and returns all messages of its response. */
export async function callStream(
  url: string,
  method: string,
  message: unknown,
  headers: SandboxHeaders,
): Promise<readonly any[]> {
  return messagesOf(await openStream(url, method, encodeMessage(message), headers))
}

/** Reads all messages of a response. */
export async function messagesOf(response: IncomingMessage): Promise<readonly any[]> {
  const messages: unknown[] = []
  for await (const message of readMessages(response)) messages.push(message)
  return messages
}

/** Reads a response message by message. */
export async function* readMessages(response: IncomingMessage): AsyncGenerator<any> {
  let read = Buffer.alloc(0)
  for await (const chunk of response as AsyncIterable<Buffer>) {
    read = Buffer.concat([read, chunk])
    while (read.length >= PREFIX_BYTES && read.length >= PREFIX_BYTES + read.readUInt32BE(1)) {
      const end = PREFIX_BYTES + read.readUInt32BE(1)
      yield JSON.parse(read.subarray(PREFIX_BYTES, end).toString())
      read = read.subarray(end)
    }
  }
}
