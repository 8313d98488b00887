import type { FastifyReply } from 'fastify'
import { type Fault, isFault } from '../../../lib/errors/fault.ts'
import type { HttpServer } from '../../../lib/http/server.ts'
import { errorToWire } from '../../api/error.ts'
import { fault } from '../../errors.ts'

/** Whether a client asked for the progress of long work. */
export function wantsEvents(accept: string | undefined): boolean {
  return /(?:^|,)\s*text\/event-stream\s*(?:;|,|$)/i.test(accept ?? '')
}

/** Answers with the progress of a piece of work, then its result as `complete` or what went wrong as `error`. */
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
    if (!isFault(error)) reply.log.error({ err: error }, `${what} failed`)
    const told: Fault = isFault(error)
      ? error
      : fault('BACKEND_ERROR', `${what} failed; the server log says why`)
    stream.send(errorToWire(told).error, 'error')
  }
  stream.end()
}
