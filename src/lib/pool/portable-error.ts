import { Fault, type FaultKind } from '../errors/fault.ts'

/**
 * A serializable error for threads and processes: structured cloning keeps an Error's message
 * and stack, but drops `code` and all other properties.
 */
export interface PortableError {
  readonly name: string
  readonly message: string
  readonly stack?: string | undefined
  readonly kind?: FaultKind
  readonly cause?: PortableError
  readonly details: Readonly<Record<string, string | number>>
}

const detailNames = ['code', 'errno', 'syscall', 'path'] as const
const MAX_CAUSES = 4

/** Serializes anything that was thrown. */
export function packError(thrown: unknown, causes = MAX_CAUSES): PortableError {
  if (!(thrown instanceof Error)) return { name: 'Error', message: String(thrown), details: {} }
  const details: Record<string, string | number> = {}
  for (const name of detailNames) {
    const value: unknown = (thrown as NodeJS.ErrnoException)[name]
    if (typeof value === 'string' || typeof value === 'number') details[name] = value
  }
  return {
    name: thrown.name,
    message: thrown.message,
    stack: thrown.stack,
    details,
    ...(thrown instanceof Fault ? { kind: thrown.kind } : {}),
    ...(thrown.cause !== undefined && causes > 0 ? { cause: packError(thrown.cause, causes - 1) } : {}),
  }
}

/** Restores an error with its code, errno, syscall, path, cause and original stack. */
export function unpackError(packed: PortableError): Error {
  const options = packed.cause === undefined ? undefined : { cause: unpackError(packed.cause) }
  const error =
    packed.kind === undefined
      ? Object.assign(new Error(packed.message, options), { name: packed.name }, packed.details)
      : new Fault(String(packed.details['code']), packed.kind, packed.message, options)
  if (packed.stack !== undefined) error.stack = packed.stack
  return error
}
