import { Socket } from 'node:net'

/** Opens a stream on the next of a program's descriptors and takes ownership of it. */
export function streamOnNext(descriptors: number[], way: { readable?: boolean; writable?: boolean }): Socket {
  const [fd] = descriptors
  if (fd === undefined) throw new Error('a program has three standard streams')
  const stream = new Socket({ fd, readable: false, writable: false, ...way })
  descriptors.shift()
  // EPIPE means that the program closed its input; writers notice the end of the stream.
  return stream.on('error', () => undefined)
}
