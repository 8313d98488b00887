/** Codes of the errors below. */
export const CLIENT_CODES = { lost: 'SERVER_UNREACHABLE', timedOut: 'WAIT_TIMED_OUT' } as const

/** An error that the server reported. Its codes are in docs/workspace/errors.md. */
export class WorkspaceError extends Error {
  override readonly name = 'WorkspaceError'
  readonly code: string
  /** Status of the response; 200 when the error ended a stream that had begun. */
  readonly status: number

  constructor(code: string, status: number, message: string) {
    super(message)
    this.code = code
    this.status = status
  }
}

/** A missing or lost connection: the address is invalid, no server responds, or its response is incomplete. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
  /** `SERVER_UNREACHABLE`, or the reason why no request could be sent, such as `SERVER_URL_INVALID`. */
  readonly code: string

  constructor(message: string, options: { readonly code?: string; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.code = options.code ?? CLIENT_CODES.lost
  }
}

/** A condition that was not met in time. */
export class WaitTimeoutError extends Error {
  override readonly name = 'WaitTimeoutError'
  readonly code = CLIENT_CODES.timedOut
}
