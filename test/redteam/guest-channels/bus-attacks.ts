import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { envelopeToWire } from '../../../src/lib/envelope/envelope.ts'
import { encodeFrame } from '../../../src/lib/envelope/frames.ts'
import { uuidV7 } from '../../../src/lib/envelope/uuid-v7.ts'
import { BUS_PORT } from '../../../src/lib/guest/protocol.ts'
import { hostPortSocket } from '../../../src/workspace/backend/microvm/guest/guest-line.ts'
import { type ExtensionMessage, serveNamespace } from '../../../src/workspace/client/serve-namespace.ts'
import { HOSTILE_TOKEN } from '../../support/hostile/hostile-machine.ts'
import { type ChannelAttack, type ChannelParts, pour, times } from './parts.ts'

const MOST_CONNECTIONS = 64
const CLOSED_MS = 5_000

async function dialBus({ machine }: ChannelParts): Promise<Socket> {
  const socket = connect({
    path: join(machine.socketDir, hostPortSocket(BUS_PORT)),
    allowHalfOpen: true,
  }).on('error', () => undefined)
  await once(socket, 'connect')
  return socket.resume()
}

async function isClosed(socket: Socket): Promise<boolean> {
  const closed = new Promise<true>((resolve) => {
    socket.once('close', () => resolve(true)).once('end', () => resolve(true))
  })
  return socket.destroyed || Promise.race([closed, delay(CLOSED_MS, false, { ref: false })])
}

function message(
  namespace: string,
  payload: Readonly<Record<string, unknown>>,
  type: 'event' | 'request' | 'response' = 'event',
  more: Readonly<Record<string, unknown>> = {},
): Buffer {
  const id = uuidV7(Date.now())
  const timestamp = new Date().toISOString()
  return encodeFrame({ ...envelopeToWire({ id, namespace, type, timestamp, payload }), ...more })
}

const hello = (token: string): Buffer => message('system:health', { token })
const sized = (body: Buffer): Buffer => {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(body.length)
  return Buffer.concat([length, body])
}

/** First bytes of a connection that must close it. */
const REFUSED: readonly (readonly [string, string, Buffer])[] = [
  ['length-4-gb', 'a message of 4 GB', Buffer.from([0xff, 0xff, 0xff, 0xff])],
  ['length-zero', 'a message of no bytes', Buffer.alloc(4)],
  ['not-messagepack', 'bytes that are not MessagePack', sized(Buffer.alloc(1_000, 0xc1))],
  ['array-bomb', 'a million arrays in each other', sized(Buffer.alloc(1_000_000, 0x91))],
  ['map-bomb', 'a map that claims four billion entries', sized(Buffer.from([0xdf, 0xff, 0xff, 0xff, 0xff]))],
  ['string-bomb', 'a string that claims 4 GB', sized(Buffer.from([0xdb, 0xff, 0xff, 0xff, 0xff]))],
  ['no-token', 'a message before the agent has shown its token', message('greeter', {})],
  ['wrong-token', 'a guessed token', hello('the-token-of-another-machine')],
  ['odd-token', 'a token that is a list', message('system:health', { token: [HOSTILE_TOKEN] })],
]

/** Attacks on the bus's port, as a guest reaches it. */
export const BUS_ATTACKS: readonly ChannelAttack[] = [
  ...REFUSED.map(([id, tries, bytes]): ChannelAttack => ({
    id: `bus/${id}`,
    tries,
    async play(parts) {
      const socket = await dialBus(parts)
      socket.write(bytes)
      const isHeld = await isClosed(socket)
      socket.destroy()
      return isHeld ? [] : ['the connection stays open']
    },
  })),
  {
    id: 'bus/connections',
    tries: '300 connections to the bus',
    async play(parts) {
      const sockets = await Promise.all(Array.from({ length: 300 }, () => dialBus(parts)))
      await delay(1_000)
      const open = sockets.filter((socket) => !socket.destroyed && !socket.readableEnded).length
      for (const socket of sockets) socket.destroy()
      return open > MOST_CONNECTIONS ? [`${open} are open`] : []
    },
  },
  {
    id: 'bus/byte-by-byte',
    tries: 'messages of 1 MB that come byte by byte on 50 connections',
    async play(parts) {
      const sockets = await Promise.all(Array.from({ length: 50 }, () => dialBus(parts)))
      for (const socket of sockets) socket.setNoDelay().write(Buffer.from([0, 15, 0, 0]))
      const byte = Buffer.alloc(1)
      for (const endMs = performance.now() + 8_000; performance.now() < endMs;) {
        for (const socket of sockets) if (!socket.destroyed) socket.write(byte)
        await new Promise((resolve) => setImmediate(resolve))
      }
      for (const socket of sockets) socket.destroy()
      return []
    },
  },
  {
    id: 'bus/events',
    tries: 'a million events of an agent with its token',
    async play(parts) {
      const socket = await dialBus(parts)
      socket.write(hello(HOSTILE_TOKEN))
      await pour(socket, times(500, message('nobody.listens', {})), 120_000_000)
      socket.destroy()
      return []
    },
  },
  {
    id: 'bus/requests',
    tries: '100,000 requests of 16 KB that nobody answers',
    async play(parts) {
      const socket = await dialBus(parts)
      socket.write(hello(HOSTILE_TOKEN))
      const text = 'x'.repeat(16 * 1024)
      const endMs = performance.now() + 5_000
      for (let i = 0; i < 100_000 && !socket.destroyed && performance.now() < endMs; i++)
        if (!socket.write(message('nobody.answers', { text }, 'request')))
          await Promise.race([once(socket, 'drain'), delay(500)])
      socket.destroy()
      return []
    },
  },
  {
    id: 'bus/another-name',
    tries: 'messages in the name of another workspace, of the server and of a listener',
    async play(parts) {
      const got: ExtensionMessage[] = []
      const listening = new AbortController()
      const ready = Promise.withResolvers<void>()
      const listener = serveNamespace('redteam', (each) => void got.push(each), {
        server: { url: parts.server.url },
        signal: listening.signal,
        onListening: () => ready.resolve(),
      })
      await ready.promise
      const socket = await dialBus(parts)
      socket.write(hello(HOSTILE_TOKEN))
      const workspace = { name: parts.quiet, backend: 'docker', server: 'x' }
      socket.write(message('redteam', { workspace }, 'event', { workspace, server: 'another' }))
      socket.write(message('system:redteam', {}))
      socket.write(message('redteam', {}, 'response', { in_reply_to: uuidV7(Date.now()), final: true }))
      await delay(1_000)
      socket.destroy()
      listening.abort()
      await listener
      const names = got.map((each) => each.workspace.name)
      const isRight = names.length === 1 && names[0] === parts.machine.name
      return isRight ? [] : [`the listener got messages of ${JSON.stringify(names)}`]
    },
  },
]
