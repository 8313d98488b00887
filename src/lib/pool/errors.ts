import { defineFaults } from '../errors/fault.ts'

/**
 * Errors of the pool itself. Exceptions of a worker reach the caller unchanged.
 */
export const fault = defineFaults({
  /** The child process died during the task: a native crash, or killed from outside (out of memory). */
  POOL_CRASHED: 'internal',
  /** The worker's thread exited without a result (exit, heap limit), or the result could not be sent. */
  POOL_TASK_FAILED: 'internal',
  /** The task exceeded its timeoutMs. */
  POOL_TIMEOUT: 'timeout',
  /** The pool was closed before the task completed. */
  POOL_CLOSED: 'unavailable',
})
