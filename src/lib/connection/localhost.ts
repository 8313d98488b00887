import type { TcpNetConnectOpts } from 'node:net'

/** Time after which an address that does not answer is given up for the next one. */
const ATTEMPT_MS = 5_000
const ADDRESSES = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

/** The part of a connection's options that selects its host. */
export type HostOptions = Pick<
  TcpNetConnectOpts,
  'autoSelectFamily' | 'autoSelectFamilyAttemptTimeout' | 'lookup'
> & { readonly host: string }

/** Returns whether a host name is localhost or below it. Source: RFC 6761, 6.3. */
export function isLocalhost(host: string): boolean {
  return /^(?:.+\.)?localhost\.?$/i.test(host)
}

/**
 * Returns the options by which a socket or request connects to a host. localhost is 127.0.0.1, or else ::1, because programs
 * listen on either and hosts files list only one; if neither accepts, the error is an `AggregateError`. Any other host is resolved
 * as usual.
 */
export function hostOptions(host: string): HostOptions {
  if (!isLocalhost(host)) return { host }
  return {
    host,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
    lookup: (_name, _options, done) => done(null, ADDRESSES),
  }
}

/** Returns whether an error means that no connection could be opened. */
export function isConnectError(error: unknown): boolean {
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : [error]
  return (first as NodeJS.ErrnoException | undefined)?.syscall === 'connect'
}
