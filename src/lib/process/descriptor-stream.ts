import { Socket } from 'node:net'
import { setImmediate, setTimeout as delay } from 'node:timers/promises'

const POLL_MS = 10

/** Opens a stream on the next of a program's descriptors and takes ownership of it. */
export function streamOnNext(descriptors: number[], way: { readable?: boolean; writable?: boolean }): Socket {
  const [fd] = descriptors
  if (fd === undefined) throw new Error('a program has three standard streams')
  const stream = new Socket({ fd, readable: false, writable: false, ...way })
  descriptors.shift()
  // EPIPE means that the program closed its input; writers notice the end of the stream.
  return stream.on('error', () => undefined)
}

/**
 * Waits until the output of an exited program has arrived: at the end of the stream, or, when its children keep the pipe open, once
 * the pipe has been found empty.
 */
export async function arrived(stream: Socket): Promise<void> {
  while (!stream.destroyed && !stream.readableEnded) {
    const before = stream.bytesRead
    // The event loop reads the pipe's content between these two turns. A timer could end before it does, however long it is.
    await setImmediate()
    await setImmediate()
    if (stream.bytesRead !== before) continue
    if (stream.readableLength === 0) return
    await delay(POLL_MS)
  }
}
