import { once } from 'node:events'
import { connect as connectSocket } from 'node:net'
import { connect as connectNats } from '@nats-io/transport-node'
import { EnvelopeChannel } from '../src/lib/envelope/envelope-channel.ts'
import { type Envelope, payloadOf, type ReceivedEnvelope } from '../src/lib/envelope/envelope.ts'
import { uuidV7 } from '../src/lib/envelope/uuid-v7.ts'

/** One of many requesters, over any transport. */
export interface Asker {
  /** Resolves with the number of events that the listener has received so far. */
  readonly ask: (text: string) => Promise<number>
  readonly notify: (text: string) => void
  readonly close: () => void
}

/** Opens a simulated machine's connection to the bus, like its agent. */
export async function busAsker(
  socket: string,
  name: string,
  token: string,
): Promise<
  Omit<Asker, 'ask' | 'notify'> & {
    readonly on: (namespace: string) => Pick<Asker, 'ask' | 'notify'>
  }
> {
  const connection = connectSocket(socket)
  await once(connection, 'connect')
  connection.write(`${name}\n`)
  const waiting = new Map<string, (answer: ReceivedEnvelope) => void>()
  const welcome = Promise.withResolvers<void>()
  const channel = new EnvelopeChannel(connection, 2 ** 20, (envelope) => {
    if (envelope.namespace === 'system:health') return welcome.resolve()
    const id = envelope.inReplyTo ?? ''
    waiting.get(id)?.(envelope)
    waiting.delete(id)
  })
  const send = (namespace: string, type: 'request' | 'event', payload: Envelope['payload']): string => {
    const nowMs = Date.now()
    const id = uuidV7(nowMs)
    channel.send({ id, namespace, type, timestamp: new Date(nowMs).toISOString(), payload })
    return id
  }
  send('system:health', 'request', { token })
  await welcome.promise
  return {
    on: (namespace) => ({
      ask: (text) =>
        new Promise((resolve) => {
          waiting.set(send(namespace, 'request', { text }), (answer) =>
            resolve(Number(payloadOf(answer)['events'])),
          )
        }),
      notify: (text) => void send(namespace, 'event', { text }),
    }),
    close: () => channel.close(),
  }
}

/** Opens a connection to a NATS server, with that project's own client. */
export async function natsAsker(url: string): Promise<Asker> {
  const client = await connectNats({ servers: url })
  return {
    async ask(text) {
      const answer = await client.request('requests', JSON.stringify({ text }), { timeout: 60_000 })
      return answer.json<{ events: number }>().events
    },
    notify: (text) => client.publish('events', JSON.stringify({ text })),
    close: () => void client.close(),
  }
}

/**
 * Sends `count` requests, `atOnce` at a time, alternating between askers; returns their times in milliseconds,
 * sorted.
 */
export async function roundTrips(
  askers: readonly Pick<Asker, 'ask'>[],
  { count, atOnce, text }: { readonly count: number; readonly atOnce: number; readonly text: string },
): Promise<readonly number[]> {
  const tookMs: number[] = []
  let next = 0
  const work = async (): Promise<void> => {
    while (next < count) {
      const asker = askers[next++ % askers.length]
      const beganMs = performance.now()
      await asker?.ask(text)
      tookMs.push(performance.now() - beganMs)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return tookMs.toSorted((a, b) => a - b)
}
