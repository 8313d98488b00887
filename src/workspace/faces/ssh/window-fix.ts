// oxlint-disable no-underscore-dangle -- ssh2's names
import type { Connection } from '../../../lib/ssh/ssh2.ts'

type Done = (error?: Error | null) => void

/** The private fields of an ssh2 1.17.0 server channel that hold data waiting for the client's window. */
interface WaitingChannel {
  readonly outgoing: { window: number }
  readonly stderr: { _write(chunk: Buffer, encoding: null, done: Done): void }
  _write(chunk: Buffer, encoding: null, done: Done): void
  _waitWindow: boolean
  _chunk: Buffer | undefined
  _chunkcb: Done | undefined
  _chunkErr: Buffer | undefined
  _chunkcbErr: Done | undefined
}

interface ConnectionInternals {
  readonly _chanMgr: { get(id: number): unknown }
  readonly _protocol: {
    readonly _handlers: { CHANNEL_WINDOW_ADJUST: (protocol: unknown, channel: number, bytes: number) => void }
  }
}

/**
 * Fixes how ssh2 1.17.0 resumes after the client's window was full: it never clears the pending chunk, so that a later window
 * adjustment sends standard output twice and standard error not at all. With the fix, each adjustment resumes both streams,
 * alternating which goes first so that neither starves.
 *
 * Uses private fields: the ssh2 version is pinned, and a test sends both streams past the window.
 */
export function fixWindows(connection: Connection): void {
  const { _chanMgr: channels, _protocol: protocol } = connection as unknown as ConnectionInternals
  let isErrorFirst = false
  protocol._handlers.CHANNEL_WINDOW_ADJUST = (_protocol, id, bytes) => {
    const channel = channelOf(channels.get(id))
    if (channel === undefined) return
    channel.outgoing.window += bytes
    if (!channel._waitWindow) return
    channel._waitWindow = false
    const { _chunk: output, _chunkcb: outputDone, _chunkErr: errors, _chunkcbErr: errorsDone } = channel
    channel._chunk = channel._chunkcb = channel._chunkErr = channel._chunkcbErr = undefined
    const steps = [
      () => resume(outputDone, output, (chunk, done) => channel._write(chunk, null, done)),
      () => resume(errorsDone, errors, (chunk, done) => channel.stderr._write(chunk, null, done)),
    ]
    isErrorFirst = !isErrorFirst
    for (const step of isErrorFirst ? steps.toReversed() : steps) step()
  }
}

/** Returns the channel for a table entry: a server's session takes the slot of the channel it opens later. */
function channelOf(entry: unknown): WaitingChannel | undefined {
  if (typeof entry !== 'object' || entry === null) return undefined
  const { outgoing, _channel } = entry as { outgoing?: unknown; _channel?: WaitingChannel }
  return _channel ?? (outgoing === undefined ? undefined : (entry as WaitingChannel))
}

function resume(
  done: Done | undefined,
  chunk: Buffer | undefined,
  write: (chunk: Buffer, done: Done) => void,
): void {
  if (done === undefined) return
  if (chunk === undefined) done()
  else write(chunk, done)
}
