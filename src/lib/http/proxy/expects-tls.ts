import type { Duplex } from 'node:stream'
import { isTlsRecord, speaksTls } from '../../connection/speaks-tls.ts'
import type { UpstreamFailure } from './forward.ts'

/** An error of Node's HTTP parser has the bytes that it could not parse. */
interface ReadError {
  readonly code?: string
  readonly rawPacket?: Buffer
}

/**
 * Returns whether a request failed because the upstream expects TLS: it then sends an alert, or closes a connection with plain
 * HTTP, and a further connection finds out. Any other response is not TLS.
 */
export async function expectsTls(
  { is, cause }: UpstreamFailure,
  connect: () => Duplex | Promise<Duplex>,
): Promise<boolean> {
  const { code, rawPacket } = (cause ?? {}) as ReadError
  if (is === 'invalid') return rawPacket !== undefined && isTlsRecord(rawPacket)
  if (is === 'silent' || code === 'ECONNREFUSED') return false
  try {
    return await speaksTls(await connect())
  } catch {
    // The caller has a failure to report already.
    return false
  }
}
