import { Socket } from 'node:net'

/** A stream on the next of a program's descriptors, which is its own from then on. */
export function streamOnNext(descriptors: number[], way: { readable?: boolean; writable?: boolean }): Socket {
  const [fd] = descriptors
  if (fd === undefined) throw new Error('a program has three standard streams')
  const stream = new Socket({ fd, readable: false, writable: false, ...way })
  descriptors.shift()
  // A program that closes its input ends the stream with EPIPE; who writes learns of it by the stream's end.
  return stream.on('error', () => undefined)
}
