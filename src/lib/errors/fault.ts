/** Category of an error. Faces translate it to an HTTP status or an exit status. */
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
 * An expected error that may be reported to the caller. The message names the thing, what is wrong with it and the remedy;
 * `cause` is for the log only.
 */
export class Fault<Code extends string = string> extends Error {
  override readonly name = 'Fault'
  readonly code: Code
  readonly kind: FaultKind
  /** Seconds after which a retry may succeed, if known. */
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

/** Returns whether an error is a `Fault`. */
export function isFault(error: unknown): error is Fault {
  return error instanceof Fault
}

/**
 * Declares a program's error codes and returns the function that creates its faults.
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
