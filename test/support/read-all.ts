import { once } from 'node:events'
import type { Duplex } from 'node:stream'

/** Reads to the end; unlike an iterator, it leaves the other direction open. */
export async function readAll(stream: Duplex): Promise<Buffer> {
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  await once(stream, 'end')
  return Buffer.concat(chunks)
}
