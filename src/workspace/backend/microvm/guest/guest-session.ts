import { randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { isFault } from '../../../../lib/errors/fault.ts'
import {
  type GuestRequest,
  type GuestResumed,
  type GuestSession,
  PATIENCE_MS,
} from '../../../../lib/guest/protocol.ts'
import { ResumableStream } from '../../../../lib/mux/resumable-stream.ts'
import { type AgentPulse, askGuest, GuestRefusal } from './ask-guest.ts'

const FIRST_RETRY_MS = 20
const LAST_RETRY_MS = 1_000

/** How to connect to a workspace's agent. */
export interface GuestDial {
  /** Rejects with WORKSPACE_NOT_RUNNING if the workspace has stopped or was started again. */
  readonly connect: () => Promise<Duplex>
  /** How often the agent is asked for a sign of life; undefined if connections always report that they break. */
  readonly pingMs?: number | undefined
  readonly pulse: AgentPulse
}

/** A session with a workspace's agent. */
export interface OpenSession<T> {
  readonly answer: T
  readonly connection: Duplex
}

/**
 * Sends a request whose connection then continues over other links when one breaks, as when the workspace is suspended and resumed,
 * for PATIENCE_MS. With agents of older images it ends with its first link.
 *
 * @throws GuestRefusal, BACKEND_ERROR
 */
export async function openSession<T extends object = Record<string, never>>(
  dial: GuestDial,
  request: Extract<GuestRequest, { readonly do: 'exec' | 'dial' | 'listen' }>,
): Promise<OpenSession<T>> {
  const session = randomBytes(16).toString('hex')
  const link = await dial.connect()
  const { pulse } = dial
  const answer = await askGuest<T & GuestSession>(link, { ...request, session }, { pulse })
  if (answer.isResumable !== true) return { answer, connection: link }
  return { answer, connection: resumedStream(dial, session, link) }
}

function resumedStream({ connect, pingMs }: GuestDial, session: string, first: Duplex): Duplex {
  let progress = 0
  let retryMs = FIRST_RETRY_MS
  const resume = async (): Promise<void> => {
    const link = await connect()
    const received = stream.receivedBytes
    const answer = await askGuest<GuestResumed>(link, { do: 'resume', session, received })
    stream.attach(link, answer.received)
    progress = stream.progressBytes
  }
  const resumeUntilConnected = async (): Promise<void> => {
    // An agent that drops each link right after it has resumed does not make this busy.
    if (stream.progressBytes > progress) retryMs = FIRST_RETRY_MS
    for (;;) {
      await delay(retryMs, undefined, { ref: false })
      if (stream.destroyed) return
      retryMs = Math.min(2 * retryMs, LAST_RETRY_MS)
      try {
        return await resume()
      } catch (error) {
        const isGone = isFault(error) && error.code === 'WORKSPACE_NOT_RUNNING'
        if (isGone || error instanceof GuestRefusal) return void stream.destroy(error)
      }
    }
  }
  const stream = new ResumableStream({
    patienceMs: PATIENCE_MS,
    ...(pingMs !== undefined && { pingMs }),
    onLost: () => void resumeUntilConnected(),
  })
  stream.on('error', () => undefined)
  stream.attach(first, 0)
  return stream
}
