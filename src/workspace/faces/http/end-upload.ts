import type { FastifyReply, FastifyRequest } from 'fastify'

/** Time without data after which an upload is cut. */
const UPLOAD_SILENCE_MS = 60_000
/** Time for a client to receive the refusal of an upload that it still sends. */
const REFUSAL_GRACE_MS = 5_000

/**
 * Receives an upload, for as long as data arrives. A failure does not destroy the connection, on which the client waits for the response.
 * For routes with `hasLongBody`.
 */
export async function receiveUpload<T>(
  request: FastifyRequest,
  reply: FastifyReply,
  receive: () => Promise<T>,
): Promise<T> {
  endUpload(request, reply)
  const endLimit = limitSilence(request, UPLOAD_SILENCE_MS)
  try {
    return await receive()
  } finally {
    endLimit()
  }
}

/** Reads the rest of a refused upload for a moment: closing the connection at once could discard the response. */
export function endUpload({ raw }: FastifyRequest, reply: FastifyReply): void {
  reply.raw.once('finish', () => {
    if (raw.complete) return
    raw
      .on('error', () => undefined)
      .unpipe()
      .resume()
    const cut = setTimeout(() => raw.destroy(), REFUSAL_GRACE_MS)
    raw.once('close', () => clearTimeout(cut))
  })
}

/** Cuts an upload that sends nothing for that long. Returns a function that ends the limit. */
export function limitSilence({ raw }: FastifyRequest, limitMs: number): () => void {
  const { socket } = raw
  const cut = (): void => void socket.destroy()
  socket.setTimeout(limitMs).once('timeout', cut)
  return () => void socket.setTimeout(0).off('timeout', cut)
}
