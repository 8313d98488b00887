// oxlint-disable no-underscore-dangle -- ssh2's names
import type { Connection } from './ssh2.ts'

/** The private fields of an ssh2 1.17.0 server session that decide which requests it handles. */
interface SessionInternals {
  /** Set by the end of the client's input, and by the end of the session. */
  _ending: boolean
  /** Present once a program was asked for. */
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

/** Requests that make sense while a program runs. */
const WHILE_RUNNING = new Set(['window-change', 'signal'])

/**
 * Fixes two ways in which ssh2 1.17.0 drops requests of a session whose program runs: after the end of the client's input it handles
 * none, although that ends data alone (RFC 4254, section 5.3), and it never replies to one that wants a reply (section 5.4).
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
    // Nothing may follow the message that closes a channel.
    const { state } = session._channel?.outgoing ?? {}
    if (!wantsReply || (state !== 'open' && state !== 'eof')) return
    const { id: theirs } = session._chanInfo.outgoing
    if (isPossible) protocol.channelSuccess(theirs)
    else protocol.channelFailure(theirs)
  }
}
