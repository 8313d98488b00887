import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { SseStream } from '../../../src/lib/sse/sse-stream.ts'

/** Returns everything that a reader receives from a stream. */
async function readAll(write: (stream: SseStream) => void): Promise<string> {
  const server = createServer((_request, response) => write(new SseStream(response)))
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const answer = await new Promise<NodeJS.ReadableStream>((resolve) => get({ port }, resolve))
  return text(answer)
}

const events = (count: number): string =>
  Array.from({ length: count }, (_, i) => `event: step\ndata: ${i}\n\n`).join('')

test.each([1, 2, 3, 20_000])(
  'a stream that ends as soon as %i events are sent delivers them all',
  async (count) => {
    const got = await readAll((stream) => {
      for (let i = 0; i < count; i++) stream.send(i, 'step')
      stream.end()
    })
    expect(got).toBe(events(count))
  },
)

test('a stream that ends a moment after its events delivers them all', async () => {
  const got = await readAll((stream) => {
    for (let i = 0; i < 3; i++) stream.send(i, 'step')
    setImmediate(() => stream.end())
  })
  expect(got).toBe(events(3))
})
