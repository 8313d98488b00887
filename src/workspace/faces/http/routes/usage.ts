import type { HttpServer } from '../../../../lib/http/server.ts'
import { encodeEvent, type SseStream } from '../../../../lib/sse/sse-stream.ts'
import { usageSchema, usageToWire } from '../../../api/usage.ts'
import type { HttpFace } from '../face.ts'
import { wantsEvents } from '../stream-progress.ts'

/** Registers the route for CPU and memory usage, once or as a stream. */
export function usageRoute({ app, openStream }: HttpServer, { usage }: HttpFace): void {
  const readers = new Set<SseStream>()
  let stopListening: (() => void) | undefined
  const follow = (reader: SseStream): void => {
    readers.add(reader)
    // Encoded once for all readers.
    stopListening ??= usage.listen((usages) => {
      const event = encodeEvent(usageToWire(usages), 'usage')
      for (const each of readers) each.sendEncoded(event)
    })
    const unsubscribe = (): void => {
      readers.delete(reader)
      if (readers.size > 0) return
      stopListening?.()
      stopListening = undefined
    }
    void reader.closed.then(unsubscribe)
  }

  app.get(
    '/api/usage',
    {
      // A HEAD request would never end.
      exposeHeadRoute: false,
      schema: {
        summary: 'Show CPU and memory usage of running workspaces',
        description:
          'With `Accept: text/event-stream` the response is a stream of `usage` events every 2 s. Containers of a remote engine ' +
          'are omitted, because their usage cannot be measured.',
        response: { 200: usageSchema },
      },
    },
    async (request, reply) => {
      if (!wantsEvents(request.headers.accept)) return usageToWire(await usage.read())
      const stream = openStream(reply)
      stream.send(usageToWire(await usage.read()), 'usage')
      follow(stream)
      return reply
    },
  )
}
