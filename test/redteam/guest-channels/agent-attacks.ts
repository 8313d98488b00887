import type { Duplex } from 'node:stream'
import { encodeMessage } from '../../../src/lib/guest/message.ts'
import { DIAL_CHANNEL } from '../../../src/lib/guest/protocol.ts'
import { FRAME } from '../../../src/lib/mux/frame.ts'
import { Mux } from '../../../src/lib/mux/mux.ts'
import { type ChannelAttack, type ChannelParts, frame, newSession, pour, times } from './parts.ts'

const ASKED_MS = 8_000
/** Timeout for clients that the agent keeps waiting. */
const SILENT_MS = 4_000

/** Impersonates the machine's agent: `answer` receives each connection from the server after its first bytes. */
async function asAgent(
  { machine }: ChannelParts,
  answer: (connection: Duplex, asked: Buffer) => unknown,
): Promise<void> {
  const session = await newSession(machine)
  const mux = new Mux(session, {
    isFirst: false,
    onChannel(channel) {
      channel.on('error', () => undefined)
      channel.once('data', (asked: Buffer) => void answer(channel, asked))
    },
  })
  session.once('close', () => mux.close())
}

/** Requests a port of the machine; returns the status, or 0 after a timeout. */
async function askPort({ server, machine }: ChannelParts, mostMs = ASKED_MS): Promise<number> {
  const signal = AbortSignal.timeout(mostMs)
  try {
    const { status, body } = await fetch(`${server.url}/api/workspaces/${machine.name}/proxy/80/`, { signal })
    await body?.cancel()
    return status
  } catch {
    return 0
  }
}

const length = (bytes: number): Buffer => {
  const header = Buffer.alloc(4)
  header.writeUInt32BE(bytes)
  return header
}
const sized = (json: string | Buffer): Buffer => Buffer.concat([length(json.length), Buffer.from(json)])
const OK = encodeMessage({ ok: true })

/** Invalid responses. The client must get an error each time, immediately. */
const WRONG: readonly (readonly [string, string, Buffer])[] = [
  ['json-of-2-gb', 'an answer that claims 2 GB', length(0x7fff_ffff)],
  ['json-of-1-mb', 'an answer of 1 MB', sized(Buffer.alloc(2 ** 20, '['))],
  ['json-nested', 'an answer of 60,000 open brackets', sized('['.repeat(60_000))],
  ['json-nothing', 'an answer of no bytes', length(0)],
  ['json-null', 'null', sized('null')],
  ['json-number', 'a number', sized('1e999')],
  ['json-prototype', 'an answer with a prototype', sized('{"__proto__":{"ok":true}}')],
  ['json-odd-fields', 'a refusal of odd fields', sized('{"ok":false,"code":{"a":1},"message":["x"]}')],
  [
    'json-long-refusal',
    'a refusal of 60 KB',
    sized(`{"ok":false,"code":"X","message":"${'x'.repeat(60_000)}"}`),
  ],
  ['not-json', 'bytes that are not JSON', sized('\xff\xfe{{{')],
  ['answered-twice', 'two answers to one request', Buffer.concat([OK, OK, OK])],
  ['garbage-after-answer', 'garbage after the answer', Buffer.concat([OK, Buffer.alloc(100_000, 0x5a)])],
]

/** Every response that a program in place of a machine's agent can send. */
export const AGENT_ATTACKS: readonly ChannelAttack[] = [
  ...WRONG.map(([id, tries, bytes]): ChannelAttack => ({
    id: `agent/${id}`,
    tries,
    async play(parts) {
      await asAgent(parts, (connection) => connection.write(bytes))
      const status = await askPort(parts)
      return status >= 500 ? [] : [`the client got ${status === 0 ? 'no answer' : status}`]
    },
  })),
  {
    id: 'agent/endless-line',
    tries: 'an answer of a gigabyte that never ends',
    async play(parts) {
      await asAgent(parts, (connection) => pour(connection, Buffer.alloc(65_536, 0x20), 1_000_000_000))
      const status = await askPort(parts)
      return status >= 500 ? [] : [`the client got ${status}`]
    },
  },
  {
    id: 'agent/silent',
    tries: '300 requests for a port that the agent never answers',
    async play(parts) {
      await asAgent(parts, () => undefined)
      await Promise.all(Array.from({ length: 300 }, () => askPort(parts, SILENT_MS)))
      return []
    },
  },
  {
    id: 'agent/frames-in-a-connection',
    tries: 'a million tiny frames inside a dialed connection',
    async play(parts) {
      const flood = times(6_000, frame(9, FRAME.data, Buffer.alloc(1)))
      await asAgent(parts, async (connection) => {
        connection.write(OK)
        await pour(connection, flood, 10_000_000)
      })
      await askPort(parts)
      return []
    },
  },
  {
    id: 'agent/endless-headers',
    tries: 'a port that answers with headers without end',
    async play(parts) {
      const line = Buffer.from(`X-${'a'.repeat(30_000)}: b\r\n`)
      await asAgent(parts, async (connection) => {
        connection.write(OK)
        connection.write(frame(DIAL_CHANNEL, FRAME.data, Buffer.from('HTTP/1.1 200 OK\r\n')))
        await pour(connection, frame(DIAL_CHANNEL, FRAME.data, line), 100_000_000)
      })
      const status = await askPort(parts)
      return status >= 500 ? [] : [`the client got ${status}`]
    },
  },
]
