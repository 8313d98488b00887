import { readdirSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { FRAME, FrameReader, MAX_FRAME_BYTES } from '../../../src/lib/mux/frame.ts'
import { type ChannelAttack, frame, isEnded, newSession, pour, times } from './parts.ts'

const BUS = Buffer.from('1024')
const CHANNEL = 5_000
const CHUNK_BYTES = 64 * 1024
const opened = frame(CHANNEL, FRAME.open, BUS)
const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** Bytes that no honest agent sends. Each must close its connection. */
const VIOLATIONS: readonly (readonly [string, string, Buffer])[] = [
  ['kind-unknown', 'a frame of an unknown kind', Buffer.from([0, 0, 0, 1, 9, 0, 0, 0, 0xa5])],
  ['kind-zero', 'a frame of kind 0', Buffer.from([0, 0, 0, 1, 0, 0, 0, 0, 0xa5])],
  ['frame-of-16-mb', 'a frame of 16 MB', Buffer.from([0, 0, 0, 1, FRAME.data, 0xff, 0xff, 0xff])],
  ['frame-over-limit', 'a frame of a byte too many', Buffer.from([0, 0, 0, 1, FRAME.data, 1, 0, 1])],
  ['last-byte', 'a frame with another last byte', Buffer.from([0, 0, 0, 1, FRAME.end, 0, 0, 0, 0])],
  ['opened-twice', 'a channel that is open already', Buffer.concat([opened, opened])],
  ['empty-data', 'frames of no bytes', Buffer.concat([opened, times(1_000, frame(CHANNEL, FRAME.data))])],
  ['credit-unsent', 'credit for a byte that was never sent', credit(number(1))],
  ['credit-overflow', 'all the credit there is', credit(number(0xffff_ffff))],
  ['credit-negative', 'a negative credit', credit(number(0x8000_0000))],
  ['credit-short', 'a credit of three bytes', credit(Buffer.alloc(3))],
  ['credit-empty', 'a credit of no bytes', credit(Buffer.alloc(0))],
  [
    'data-after-end',
    'data after the end',
    Buffer.concat([opened, frame(CHANNEL, FRAME.end), frame(CHANNEL, FRAME.data, Buffer.alloc(1))]),
  ],
]

function credit(payload: Buffer): Buffer {
  return Buffer.concat([opened, frame(CHANNEL, FRAME.credit, payload)])
}

/** Valid frames in excessive numbers. */
const FLOODS: readonly (readonly [string, string, Buffer, number])[] = [
  ['tiny-frames', 'a million frames of a byte', frame(77, FRAME.data, Buffer.alloc(1)), 10_000_000],
  ['empty-stray-frames', 'a million frames of nothing', frame(77, FRAME.data), 9_000_000],
  ['resets', 'a million resets', frame(77, FRAME.reset), 9_000_000],
  [
    'opened-and-reset',
    'channels opened and reset without end',
    Buffer.concat([opened, frame(CHANNEL, FRAME.reset)]),
    20_000_000,
  ],
  ['large-stray-frames', 'a gigabyte for nobody', frame(77, FRAME.data, Buffer.alloc(65_536)), 1_000_000_000],
]

/** Attacks on the protocol of the machine's line. */
export const MUX_ATTACKS: readonly ChannelAttack[] = [
  ...VIOLATIONS.map(([id, tries, bytes]): ChannelAttack => ({
    id: `mux/${id}`,
    tries,
    async play({ machine }) {
      const session = await newSession(machine)
      session.write(bytes)
      return (await isEnded(session)) ? [] : ['the connection stays open']
    },
  })),
  ...FLOODS.map(([id, tries, one, bytes]): ChannelAttack => ({
    id: `mux/${id}`,
    tries,
    async play({ machine }) {
      const session = (await newSession(machine)).resume()
      await pour(session, times(Math.ceil(CHUNK_BYTES / one.length), one), bytes)
      return []
    },
  })),
  {
    id: 'mux/channel-flood',
    tries: '20,000 channels opened to the bus at once',
    async play({ machine, server }) {
      const before = openFiles(server.pid)
      const session = (await newSession(machine)).resume()
      session.write(
        Buffer.concat(Array.from({ length: 20_000 }, (_, i) => frame(10_000 + i, FRAME.open, BUS))),
      )
      let most = 0
      for (let i = 0; i < 60; i++) {
        await delay(50)
        most = Math.max(most, openFiles(server.pid) - before)
      }
      return most > 500 ? [`${most} files open`] : []
    },
  },
  {
    id: 'mux/odd-greetings',
    tries: 'channels to ports that are paths, huge or nothing',
    async play({ machine }) {
      const session = (await newSession(machine)).resume()
      const greetings = ['', '../../../run/docker.sock', '1024/../x', '9'.repeat(60_000), '-1', '1e3', '\0']
      session.write(
        Buffer.concat(greetings.map((greeting, i) => frame(6_000 + i, FRAME.open, Buffer.from(greeting)))),
      )
      const reader = new FrameReader()
      const kinds: number[] = []
      session.on('data', (bytes: Buffer) => {
        reader.add(bytes)
        for (let next = reader.next(); next !== undefined; next = reader.next()) kinds.push(next.kind)
      })
      await delay(1_000)
      return kinds.every((kind) => kind === FRAME.reset) ? [] : ['something answered']
    },
  },
  {
    id: 'mux/refusals-piled-up',
    tries: 'channels opened without reading how each is refused',
    async play({ machine }) {
      const session = (await newSession(machine)).pause()
      await pour(session, times(3_000, frame(CHANNEL, FRAME.open, Buffer.from('x'))), 200_000_000)
      session.resume()
      return []
    },
  },
  {
    id: 'line/sessions-asked-for',
    tries: 'sessions asked for again and again without reading the answers',
    async play({ machine }) {
      const line = machine.line()
      if (line === undefined) throw new Error('the server is not connected')
      line.removeAllListeners('data')
      line.pause()
      const hello = [
        Buffer.alloc(MAX_FRAME_BYTES),
        Buffer.from('9f1c77f0workspaceHELLO', 'latin1'),
        Buffer.alloc(16),
      ]
      await pour(line, Buffer.concat(hello), 1_000_000_000)
      line.destroy()
      return []
    },
  },
  {
    id: 'line/bytes-of-marks',
    tries: 'a gigabyte of what a mark begins with',
    async play({ machine }) {
      const line = machine.line()
      if (line === undefined) throw new Error('the server is not connected')
      await pour(line, Buffer.alloc(CHUNK_BYTES, 0x9f), 1_000_000_000)
      line.destroy()
      return []
    },
  },
]

function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length
}
