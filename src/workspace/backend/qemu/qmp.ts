import type { Duplex } from 'node:stream'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { dialSocket } from '../microvm/guest/guest-line.ts'

/** Longer than a live QEMU takes, however busy its host is. */
const TIMEOUT_MS = 30_000
/** QEMU creates its socket a moment before it listens. */
const LISTEN_MS = 2_000
const LOOK_EVERY_MS = 10

/** A command of QEMU's control protocol. */
export interface QmpCommand {
  readonly execute: string
  readonly arguments?: Readonly<Record<string, unknown>>
}

/**
 * Sends commands over a QEMU control socket, each after the answer to the one before, and returns the last answer.
 * Source: QEMU's interop/qmp-spec. Rejects when QEMU has exited, refuses one, or does not answer all in time.
 */
export async function qmp(
  socketPath: string,
  commands: readonly QmpCommand[],
  timeoutMs = TIMEOUT_MS,
): Promise<unknown> {
  const socket = await connectTo(socketPath)
  const late = setTimeout(() => socket.destroy(new Error('QEMU does not respond')), timeoutMs)
  try {
    const lines = createInterface({ input: socket })[Symbol.asyncIterator]()
    await nextAnswer(lines, 'QMP')
    let answer: unknown
    // QEMU accepts no other command before capabilities are negotiated; none are needed here.
    for (const command of [{ execute: 'qmp_capabilities' }, ...commands]) {
      socket.write(`${JSON.stringify(command)}\n`)
      answer = await nextAnswer(lines, 'return')
    }
    return answer
  } finally {
    clearTimeout(late)
    socket.destroy()
  }
}

async function connectTo(path: string): Promise<Duplex> {
  const endMs = performance.now() + LISTEN_MS
  for (;;) {
    try {
      return await dialSocket(path)
    } catch (error) {
      const isDeaf = (error as NodeJS.ErrnoException).code === 'ECONNREFUSED'
      if (!isDeaf || performance.now() > endMs) throw error
      await delay(LOOK_EVERY_MS)
    }
  }
}

/** Reads the next response, skipping the events between responses. */
async function nextAnswer(lines: AsyncIterator<string>, key: string): Promise<unknown> {
  for (;;) {
    const { value, done } = await lines.next()
    if (done === true) throw new Error('QEMU has exited')
    const message = JSON.parse(value) as Record<string, unknown>
    if (key in message) return message[key]
    const error = message['error'] as { readonly desc?: string } | undefined
    if (error !== undefined) throw new Error(error.desc ?? 'QEMU refused the command')
  }
}
