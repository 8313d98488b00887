import type { FastifyReply } from 'fastify'

/** Reason for which work ends whose result nobody reads. */
export class ClientDisconnected extends Error {
  constructor() {
    super('the client disconnected')
  }
}

/** Returns a signal that aborts when the connection closes, so that work for a disconnected client stops. */
export function abortOnClose({ raw }: FastifyReply): AbortSignal {
  const end = new AbortController()
  const abort = (): void => end.abort(new ClientDisconnected())
  raw.once('close', abort)
  // It closed earlier, and emits no other event.
  if (raw.closed) abort()
  return end.signal
}
