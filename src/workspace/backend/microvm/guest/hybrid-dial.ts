import { connect, type Socket } from 'node:net'
import { messageOf } from '../../../../lib/errors/message.ts'

/** The longest valid answer is `OK 4294967295` (threat B4). */
const MAX_ANSWER_BYTES = 32

/**
 * Connects to a vsock port inside a VM over the Unix socket that represents its vsock: `CONNECT port`,
 * answered by `OK port`, then raw bytes. Source: Firecracker's docs/vsock.md; vhost-device-vsock uses the
 * same protocol. Rejects when nothing listens: the socket is then closed without an answer.
 */
export async function dialHybrid(path: string, port: number, timeoutMs: number): Promise<Socket> {
  const socket = connect({ path, allowHalfOpen: true })
  const late = setTimeout(() => socket.destroy(new Error('timed out')), timeoutMs)
  try {
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
    socket.write(`CONNECT ${port}\n`)
    const answer = await readAnswer(socket)
    if (!/^OK \d{1,10}$/.test(answer)) throw new Error('connection refused')
    return socket
  } catch (error) {
    socket.destroy()
    throw new Error(`vsock port ${port} behind ${path}: ${messageOf(error)}`, { cause: error })
  } finally {
    clearTimeout(late)
  }
}

/**
 * Reads one line without its terminator; later bytes stay in the socket. Returns '' when the socket ends
 * first.
 */
async function readAnswer(socket: Socket): Promise<string> {
  let head = Buffer.alloc(0)
  for (;;) {
    const piece = socket.read() as Buffer | null
    if (piece === null) {
      if (socket.readableEnded || socket.destroyed) return ''
      await readable(socket)
      continue
    }
    head = Buffer.concat([head, piece])
    const end = head.indexOf(0x0a)
    if (end < 0 ? head.length > MAX_ANSWER_BYTES : end > MAX_ANSWER_BYTES) return ''
    if (end < 0) continue
    if (head.length > end + 1) socket.unshift(head.subarray(end + 1))
    return head.subarray(0, end).toString('latin1')
  }
}

function readable(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    const events = ['readable', 'end', 'close'] as const
    const forget = (): void => {
      for (const event of events) socket.off(event, done)
      socket.off('error', fail)
    }
    const done = (): void => (forget(), resolve())
    const fail = (error: Error): void => (forget(), reject(error))
    for (const event of events) socket.once(event, done)
    socket.once('error', fail)
  })
}
