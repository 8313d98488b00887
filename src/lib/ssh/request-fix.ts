// oxlint-disable no-underscore-dangle -- ssh2's names
import type { Connection } from './ssh2.ts'

/** Private fields of an ssh2 1.17.0 server session that determine which requests it handles. */
interface SessionInternals {
  /** Set by the end of the client's input, and by the end of the session. */
  _ending: boolean
  /** Present once a program was requested. */
  readonly _channel?: { readonly outgoing: { readonly state: string } }
  readonly _chanInfo: { readonly outgoing: { readonly id: number } }
}

type RequestHandler = (
  protocol: unknown,
  id: number,
  type: string,
  wantsReply: boolean,
  data: unknown,
) => void

interface ConnectionInternals {
  readonly _chanMgr: { get(id: number): unknown }
  readonly _protocol: {
    readonly _handlers: {
      CHANNEL_EOF: (protocol: unknown, id: number) => void
      CHANNEL_REQUEST: RequestHandler
    }
    channelSuccess(id: number): void
    channelFailure(id: number): void
  }
}

/** Requests that are valid while a program is running. */
const WHILE_RUNNING = new Set(['window-change', 'signal'])

/**
 * Fixes two bugs of ssh2 1.17.0 in sessions with a running program: after the end of the client's input it handles
 * no requests, although EOF ends only the data (RFC 4254, section 5.3), and it never replies to requests that want a reply (section 5.4).
 *
 * Uses private fields: ssh2 is pinned, and tests send such requests.
 */
export function fixRequests(connection: Connection): void {
  const { _chanMgr: channels, _protocol: protocol } = connection as unknown as ConnectionInternals
  const handlers = protocol._handlers
  const { CHANNEL_EOF: endInput, CHANNEL_REQUEST: handle } = handlers
  const runningSession = (id: number) => {
    const session = channels.get(id) as SessionInternals | undefined
    return session?._channel === undefined ? undefined : session
  }
  handlers.CHANNEL_EOF = (...message) => {
    endInput(...message)
    const session = runningSession(message[1])
    if (session !== undefined) session._ending = false
  }
  handlers.CHANNEL_REQUEST = (from, id, type, wantsReply, data) => {
    const session = runningSession(id)
    if (session === undefined) return handle(from, id, type, wantsReply, data)
    const isPossible = WHILE_RUNNING.has(type)
    if (isPossible) handle(from, id, type, false, data)
    // Nothing may follow a channel's close message.
    const { state } = session._channel?.outgoing ?? {}
    if (!wantsReply || (state !== 'open' && state !== 'eof')) return
    const { id: theirs } = session._chanInfo.outgoing
    if (isPossible) protocol.channelSuccess(theirs)
    else protocol.channelFailure(theirs)
  }
}
