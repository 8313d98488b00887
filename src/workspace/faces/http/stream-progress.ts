import type { FastifyReply } from 'fastify'
import { type Fault, isFault } from '../../../lib/errors/fault.ts'
import type { HttpServer } from '../../../lib/http/server.ts'
import type { SseStream } from '../../../lib/sse/sse-stream.ts'
import { errorToWire } from '../../api/error.ts'
import { fault } from '../../errors.ts'

/** Returns whether a client requests progress events. */
export function wantsEvents(accept: string | undefined): boolean {
  return /(?:^|,)\s*text\/event-stream\s*(?:;|,|$)/i.test(accept ?? '')
}

/** Streams the progress of an operation as events, then its result as `complete` or its error as `error`. */
export async function streamProgress(
  server: HttpServer,
  reply: FastifyReply,
  what: string,
  work: (progress: (message: string) => void) => Promise<unknown>,
): Promise<void> {
  const stream = server.openStream(reply)
  try {
    stream.send(await work((message) => stream.send({ message }, 'progress')), 'complete')
  } catch (error) {
    sendFailure(stream, reply, `${what} failed`, error)
  }
  stream.end()
}

/** Sends an `error` event; of an unexpected error, which is logged, only what happened. */
export function sendFailure(stream: SseStream, reply: FastifyReply, what: string, error: unknown): void {
  if (!isFault(error)) reply.log.error({ err: error }, what)
  const failure: Fault = isFault(error) ? error : fault('BACKEND_ERROR', `${what}; see the server log`)
  stream.send(errorToWire(failure).error, 'error')
}
