import { isFault } from '../../lib/errors/fault.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { fault } from '../errors.ts'

/** What the system refuses, as a fault that says so; everything else as it is. `what` names the work: `${what} failed: …`. */
export function systemFault(what: string, error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (isFault(error) || typeof code !== 'string' || typeof syscall !== 'string') return error
  const isFull = code === 'ENOSPC' || code === 'EDQUOT'
  return fault(
    'BACKEND_ERROR',
    isFull
      ? `${what} failed: the disk is full (${messageOf(error)}); make room there and try again`
      : `${what} failed: ${messageOf(error)}`,
    error,
  )
}
