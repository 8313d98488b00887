import { messageOf } from '../errors/message.ts'

/** Largest head of a message, in bytes, that proxies and health checks accept: Node's 16 KiB are too few for large cookies and policies. */
export const MAX_HEAD_BYTES = 65_536

/** Returns the reason why a response cannot be read; undefined if the connection failed. */
export function invalidResponse(error: NodeJS.ErrnoException): string | undefined {
  if (error.code === 'HPE_HEADER_OVERFLOW')
    return `the response's headers exceed ${MAX_HEAD_BYTES / 1_024} KiB`
  return error.code?.startsWith('HPE_') === true
    ? `the response is not valid HTTP (${messageOf(error)})`
    : undefined
}
