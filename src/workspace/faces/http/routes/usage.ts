import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import { encodeEvent, type SseStream } from '../../../../lib/sse/sse-stream.ts'
import { usageSchema, usageToWire } from '../../../api/usage.ts'
import type { HttpFace } from '../face.ts'
import { wantsEvents } from '../stream-progress.ts'

/** What running workspaces use of the machine, now or as it goes. */
export function usageRoute({ app, openStream }: HttpServer, { usage }: HttpFace): void {
  const readers = new Set<SseStream>()
  let stopListening: (() => void) | undefined
  const follow = (reader: SseStream): void => {
    readers.add(reader)
    // Encoded once, however many read it.
    stopListening ??= usage.listen((usages) => {
      const event = encodeEvent(usageToWire(usages), 'usage')
      for (const each of readers) each.sendEncoded(event)
    })
    const leave = (): void => {
      readers.delete(reader)
      if (readers.size > 0) return
      stopListening?.()
      stopListening = undefined
    }
    void reader.closed.then(leave)
  }

  app.get(
    '/api/usage',
    {
      // The answer to HEAD would never end.
      exposeHeadRoute: false,
      schema: {
        summary: 'CPU and memory of running workspaces',
        description:
          'With `Accept: text/event-stream` a stream of the same, as `usage` events every 2 s. Left out is what cannot be told: ' +
          'containers of an engine on another machine.',
        response: { 200: usageSchema, '4xx': Type.Ref('Error'), '5xx': Type.Ref('Error') },
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
