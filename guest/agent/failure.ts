/** What the host is told of a request that failed. */
export class GuestFailure extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}
