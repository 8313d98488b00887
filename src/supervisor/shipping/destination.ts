import type { LogLine } from '../log/log-line.ts'

/** A destination of lines. Two with equal JSON are the same. */
export type DestinationSettings =
  | { readonly kind: 'file'; readonly path: string; readonly maxBytes: number; readonly keep: number }
  | {
      readonly kind: 'syslog'
      readonly transport: 'udp' | 'tcp' | 'unix'
      /** Host name, or path of a socket. */
      readonly host: string
      readonly port: number
    }
  | {
      readonly kind: 'otlp'
      readonly url: string
      readonly headers: Readonly<Record<string, string>>
    }

/** Receives lines. */
export interface Destination {
  /**
   * Sends lines. Resolves with the number of lines that were refused for good; rejects if sending them again may succeed, or when
   * the signal aborts.
   */
  readonly send: (lines: readonly LogLine[], signal: AbortSignal) => Promise<number>
  readonly close: () => void
}
