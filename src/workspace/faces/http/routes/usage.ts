import type { HttpServer } from '../../../../lib/http/server.ts'
import { encodeEvent, type SseStream } from '../../../../lib/sse/sse-stream.ts'
import { usageSchema, usageToWire } from '../../../api/usage.ts'
import type { Principal } from '../../../team/access-control.ts'
import type { Usage } from '../../../usage/usage-sampler.ts'
import type { HttpFace } from '../face.ts'
import { wantsEvents } from '../stream-progress.ts'

/** Registers the route for CPU and memory usage, once or as a stream. */
export function usageRoute({ app, openStream }: HttpServer, { usage, gate, access }: HttpFace): void {
  const readers = new Map<SseStream, Principal>()
  let stopListening: (() => void) | undefined
  const visible = (principal: Principal, usages: readonly Usage[]): readonly Usage[] =>
    principal.is === 'server' ? usages : usages.filter(({ name }) => access.canSeeName(principal, name))
  const follow = (reader: SseStream, holder: Principal): void => {
    readers.set(reader, holder)
    stopListening ??= usage.listen((usages) => {
      // Encoded once for all readers who see everything.
      const event = encodeEvent(usageToWire(usages), 'usage')
      for (const [each, principal] of readers)
        if (principal.is === 'server') each.sendEncoded(event)
        else each.send(usageToWire(visible(principal, usages)), 'usage')
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
      const principal = gate.principalOf(request.raw)
      const read = async () => usageToWire(visible(principal, await usage.read()))
      if (!wantsEvents(request.headers.accept)) return read()
      const stream = openStream(reply)
      stream.send(await read(), 'usage')
      follow(stream, principal)
      return reply
    },
  )
}
