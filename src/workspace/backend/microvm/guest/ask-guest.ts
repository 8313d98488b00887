import type { Duplex } from 'node:stream'
import { encodeMessage, MAX_ANSWER_BYTES, readMessage } from '../../../../lib/guest/message.ts'
import type { GuestAnswer, GuestRequest } from '../../../../lib/guest/protocol.ts'
import { fault } from '../../../errors.ts'

/** Longer than an agent takes that is alive, however busy its machine. */
const ANSWER_TIMEOUT_MS = 30_000

/** What a guest's agent said instead of doing it. */
export class GuestRefusal extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/**
 * Says one request to a guest's agent and reads its answer; what follows on the connection is the caller's. A guest is what
 * its user makes of it: the answer is checked as far as it is used.
 *
 * @throws GuestRefusal, and BACKEND_ERROR when the agent does not answer within 30 s, or not in its language; the connection is then gone
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
    if (typeof answer !== 'object' || answer === null) throw new Error('the agent inside gave no answer')
    if (answer.ok) return answer
    throw new GuestRefusal(textOf(answer.code), textOf(answer.message))
  } catch (error) {
    connection.destroy()
    if (error instanceof GuestRefusal) throw error
    throw fault('BACKEND_ERROR', 'the agent inside the workspace does not answer', error)
  } finally {
    clearTimeout(late)
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 1_000) : 'unknown'
}
