import type { Duplex } from 'node:stream'
import { encodeMessage, MAX_ANSWER_BYTES, readMessage } from '../../../../lib/guest/message.ts'
import type { GuestAnswer, GuestRequest } from '../../../../lib/guest/protocol.ts'
import { fault } from '../../../errors.ts'

/** Longer than a live agent takes, however busy its VM is. */
const ANSWER_TIMEOUT_MS = 30_000

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
 * @throws GuestRefusal when the agent refuses
 * @throws BACKEND_ERROR when the agent does not answer within 30 s or sends an invalid answer; the connection
 * is closed then
 */
export async function askGuest<T extends object = Record<string, never>>(
  connection: Duplex,
  request: GuestRequest,
  timeoutMs = ANSWER_TIMEOUT_MS,
): Promise<T> {
  const late = setTimeout(() => connection.destroy(), timeoutMs)
  connection.on('error', () => undefined)
  try {
    connection.write(encodeMessage(request))
    const answer = (await readMessage(connection, MAX_ANSWER_BYTES)) as GuestAnswer<T> | undefined
    if (typeof answer !== 'object' || answer === null) throw new Error('the agent sent no valid answer')
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
