import type { Duplex } from 'node:stream'
import { encodeMessage, MAX_ANSWER_BYTES, readMessage } from '../../../../lib/guest/message.ts'
import type { GuestAnswer, GuestRequest } from '../../../../lib/guest/protocol.ts'
import { fault } from '../../../errors.ts'

/** Longer than a live agent is silent, however busy its VM is. */
const ANSWER_TIMEOUT_MS = 30_000
/** Limit for an agent that answers others. */
const MOST_ANSWER_MS = 10 * ANSWER_TIMEOUT_MS

/** When an agent last answered any request, as `performance.now()`. */
export interface AgentPulse {
  lastMs: number
}

/** A request that a guest's agent refused. */
export class GuestRefusal extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/**
 * Sends one request to a guest's agent and reads its answer; later bytes on the connection belong to the
 * caller. The guest is untrusted, so the used part of the answer is validated.
 *
 * @param pulse of the agent, whose answers to other requests extend the time to up to five minutes
 * @throws GuestRefusal when the agent refuses
 * @throws BACKEND_ERROR when the agent does not answer within 30 s or sends an invalid answer; the connection
 * is closed then
 */
export async function askGuest<T extends object = Record<string, never>>(
  connection: Duplex,
  request: GuestRequest,
  {
    timeoutMs = ANSWER_TIMEOUT_MS,
    pulse,
  }: { readonly timeoutMs?: number | undefined; readonly pulse?: AgentPulse } = {},
): Promise<T> {
  const beganMs = performance.now()
  const giveUp = (): void => {
    const nowMs = performance.now()
    const endMs = Math.min((pulse?.lastMs ?? 0) + timeoutMs, beganMs + MOST_ANSWER_MS)
    if (nowMs < endMs) late = setTimeout(giveUp, endMs - nowMs)
    else connection.destroy()
  }
  let late = setTimeout(giveUp, timeoutMs)
  connection.on('error', () => undefined)
  try {
    connection.write(encodeMessage(request))
    const answer = (await readMessage(connection, MAX_ANSWER_BYTES)) as GuestAnswer<T> | undefined
    if (typeof answer !== 'object' || answer === null) throw new Error('the agent sent no valid answer')
    if (pulse !== undefined) pulse.lastMs = performance.now()
    if (answer.ok) return answer
    throw new GuestRefusal(textOf(answer.code), textOf(answer.message))
  } catch (error) {
    connection.destroy()
    if (error instanceof GuestRefusal) throw error
    throw fault('BACKEND_ERROR', 'the agent inside the workspace does not respond', error)
  } finally {
    clearTimeout(late)
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 1_000) : 'unknown'
}
