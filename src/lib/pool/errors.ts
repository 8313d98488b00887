import { defineFaults } from '../errors/fault.ts'

/**
 * What a pool itself reports. What a worker throws is not among it: that reaches the caller as it was thrown.
 */
export const fault = defineFaults({
  /** The child process died with the task in it: a native crash, or killed from outside (out of memory). */
  POOL_CRASHED: 'internal',
  /** The worker's thread ended without an answer (exit, heap limit), or the answer could not be sent. */
  POOL_TASK_FAILED: 'internal',
  /** The task took longer than its timeoutMs. */
  POOL_TIMEOUT: 'timeout',
  /** The pool was closed before the task was done. */
  POOL_CLOSED: 'unavailable',
})
