import { setTimeout as delay } from 'node:timers/promises'
import type { NatsConnection } from '@nats-io/transport-node'
import { messageOf } from '../../../lib/errors/message.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import type { NatsSettings } from '../settings.ts'

const RETRY_MS = 1_000
/** A server that vanished without a word is noticed after two of these. */
const PING_MS = 5_000

/** A connection that comes back by itself; while nobody answers it is tried again, until `signal` ends that. */
export async function connectNats(
  { servers, token }: NatsSettings,
  name: string,
  logger: Logger,
  signal: AbortSignal,
): Promise<NatsConnection | undefined> {
  // Fifty modules, of which most servers, being alone, have no use.
  const { connect } = await import('@nats-io/transport-node')
  let hasFailed = false
  while (!signal.aborted) {
    try {
      const connection = await connect({
        servers: [...servers],
        name,
        noEcho: true,
        maxReconnectAttempts: -1,
        reconnectTimeWait: RETRY_MS,
        pingInterval: PING_MS,
        timeout: PING_MS,
        ignoreAuthErrorAbort: true,
        ...(token !== undefined && { token }),
      })
      if (!signal.aborted) return connection
      await connection.close()
    } catch (error) {
      const why = messageOf(error)
      if (!hasFailed)
        logger.warn(`the bus reaches no other server: NATS does not answer (${why}); it is tried again`)
      hasFailed = true
      await delay(RETRY_MS * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined)
    }
  }
  return undefined
}
