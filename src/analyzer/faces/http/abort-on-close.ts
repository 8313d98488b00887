import type { FastifyReply } from 'fastify'

/** Returns a signal that aborts when the connection closes, so that work for a disconnected client stops. */
export function abortOnClose({ raw }: FastifyReply): AbortSignal {
  const end = new AbortController()
  raw.once('close', () => end.abort(new Error('the client disconnected')))
  return end.signal
}
