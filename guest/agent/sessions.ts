import type { Duplex } from 'node:stream'
import { type GuestRequest, PATIENCE_MS } from '../../src/lib/guest/protocol.ts'
import { ResumableStream } from '../../src/lib/mux/resumable-stream.ts'
import { GuestFailure } from './failure.ts'

const SESSION = /^[0-9a-f]{32}$/

/** Connections of the host that continue after their link breaks. */
const sessions = new Map<string, ResumableStream>()

/** Returns a connection that starts on this link, and continues on later ones. */
export function startSession(session: string, link: Duplex): Duplex {
  const stream = new ResumableStream({ patienceMs: PATIENCE_MS })
  stream.on('error', () => undefined)
  stream.once('close', () => sessions.delete(session))
  sessions.set(session, stream)
  stream.attach(link, 0)
  return stream
}

/** Continues a session over another link. @throws GuestFailure when there is none, as after a boot */
export function resumeSession(
  session: unknown,
  received: unknown,
  link: Duplex,
  accept: (answer: { readonly received: number }) => void,
): void {
  const stream = sessions.get(String(session))
  if (stream === undefined || stream.destroyed)
    throw new GuestFailure('NO_SUCH_SESSION', 'the session no longer exists')
  accept({ received: stream.receivedBytes })
  stream.attach(link, Number(received))
}

/** Ends all sessions: they belong to the machine whose memory this one continues. */
export function endSessions(): void {
  for (const stream of sessions.values()) stream.destroy()
}

/** Returns the session that a request starts, if any. @throws GuestFailure when it is not valid */
export function newSessionOf(request: GuestRequest): string | undefined {
  if (request.do === 'resume' || !('session' in request)) return undefined
  const { session } = request
  if (typeof session !== 'string' || !SESSION.test(session) || sessions.has(session))
    throw new GuestFailure('BAD_REQUEST', 'session must be 32 new hexadecimal digits')
  return session
}
