import type { Duplex } from 'node:stream'
import { encodeMessage, readMessage } from '../../src/lib/guest/message.ts'
import type { GuestAnswer, GuestRequest, GuestSetting } from '../../src/lib/guest/protocol.ts'
import { messageOf } from '../../src/lib/errors/message.ts'
import { serveDial } from './dial.ts'
import { serveExec } from './exec.ts'
import { freeze, thaw } from './freeze.ts'
import { GuestFailure } from './failure.ts'
import { readHealth } from './health.ts'
import { serveListen, serveListenPort } from './listen.ts'
import { prepare } from './prepare.ts'
import { endSessions, newSessionOf, resumeSession, startSession } from './sessions.ts'
import { trimAndFlush, shutDown } from './shut-down.ts'

const REQUEST_TIMEOUT_MS = 30_000

/**
 * Handles the single request of a connection from the host.
 *
 * @param onPrepared called when the machine is configured as the host requested
 */
export async function serve(
  connection: Duplex,
  onPrepared: (setting: GuestSetting) => void = () => undefined,
): Promise<void> {
  connection.on('error', () => undefined)
  const late = setTimeout(() => connection.destroy(), REQUEST_TIMEOUT_MS)
  try {
    const request = (await readMessage(connection)) as GuestRequest | undefined
    clearTimeout(late)
    if (request === undefined) return void connection.destroy()
    await handleRequest(connection, request, onPrepared)
  } catch (error) {
    const code = error instanceof GuestFailure ? error.code : 'FAILED'
    answer(connection, { ok: false, code, message: messageOf(error) })
    connection.end()
    connection.resume()
  } finally {
    clearTimeout(late)
  }
}

async function handleRequest(
  connection: Duplex,
  request: GuestRequest,
  onPrepared: (setting: GuestSetting) => void,
): Promise<void> {
  const accept = (more: object = {}): void => answer(connection, { ok: true, ...more })
  // Before anything is started for it.
  const session = newSessionOf(request)
  /** Answers, and returns the connection that then belongs to the request. */
  const acceptSession = (more: object = {}): Duplex => {
    accept({ ...more, ...(session !== undefined && { isResumable: true }) })
    return session === undefined ? connection : startSession(session, connection)
  }
  switch (request.do) {
    case 'exec':
      return serveExec(request, acceptSession)
    case 'dial':
      return serveDial(request.port, acceptSession)
    case 'listen':
      return serveListen(request.user, acceptSession)
    case 'listen-port':
      return serveListenPort(connection, request.port, accept)
    case 'resume':
      return resumeSession(request.session, request.received, connection, accept)
    case 'health':
      accept(readHealth())
      break
    case 'prepare':
      if (request.fork !== undefined) endSessions()
      await prepare(request)
      onPrepared(request)
      thaw()
      accept()
      break
    case 'freeze':
      await freeze()
      accept()
      break
    case 'shut-down':
      await trimAndFlush()
      accept()
      await shutDown(request.by)
      break
    default:
      throw new GuestFailure(
        'BAD_REQUEST',
        'the agent does not support this request: the image is older than the server; build it again',
      )
  }
  connection.end()
  connection.resume()
}

function answer(connection: Duplex, message: GuestAnswer<object>): void {
  if (!connection.destroyed) connection.write(encodeMessage(message))
}
