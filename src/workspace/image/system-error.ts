import { isFault } from '../../lib/errors/fault.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { fault } from '../errors.ts'

/**
 * Converts a system error to a BACKEND_ERROR; returns other errors unchanged. `what` names the work: `${what}
 * failed: …`.
 */
export function systemError(what: string, error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (isFault(error) || typeof code !== 'string' || typeof syscall !== 'string') return error
  const isFull = code === 'ENOSPC' || code === 'EDQUOT'
  return fault(
    'BACKEND_ERROR',
    isFull
      ? `${what} failed: the disk is full (${messageOf(error)}); free disk space and try again`
      : `${what} failed: ${messageOf(error)}`,
    error,
  )
}
