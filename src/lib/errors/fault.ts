/** What went wrong, seen from the caller. Faces translate a kind to an HTTP status or an exit code. */
export type FaultKind =
  | 'invalid'
  | 'unauthorized'
  | 'forbidden'
  | 'missing'
  | 'not_allowed'
  | 'conflict'
  | 'too_large'
  | 'internal'
  | 'upstream'
  | 'unavailable'
  | 'timeout'
  | 'unsupported'

/**
 * A failure that a caller may be told about. The message says what was expected, what came and about which thing;
 * `cause` is for the log only.
 */
export class Fault<Code extends string = string> extends Error {
  override readonly name = 'Fault'
  readonly code: Code
  readonly kind: FaultKind
  /** After how many seconds trying again may help, where that is known. */
  readonly retryAfterS: number | undefined

  constructor(
    code: Code,
    kind: FaultKind,
    message: string,
    options: { readonly cause?: unknown; readonly retryAfterS?: number | undefined } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.kind = kind
    this.retryAfterS = options.retryAfterS
  }
}

export function isFault(error: unknown): error is Fault {
  return error instanceof Fault
}

/**
 * Declares a program's table of codes and returns the one function that makes its faults.
 *
 * @example const fault = defineFaults({ WORKSPACE_NOT_FOUND: 'missing' })
 */
export function defineFaults<const Table extends Readonly<Record<string, FaultKind>>>(table: Table) {
  return function fault<Code extends keyof Table & string>(
    code: Code,
    message: string,
    cause?: unknown,
    retryAfterS?: number,
  ): Fault<Code> {
    return new Fault(code, table[code] as FaultKind, message, { cause, retryAfterS })
  }
}
