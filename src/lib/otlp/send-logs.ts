import { text as readText } from 'node:stream/consumers'
import { postJson } from '../http/post-json.ts'
import { parseJson } from '../schema/parse-json.ts'
import { Type } from '../schema/type.ts'

const TIMEOUT_MS = 10_000
/** Statuses after which records may be sent again. Source: OTLP 1.5, "Retryable Response Codes". */
const PASSING_STATUSES = new Set([429, 502, 503, 504])

/** Response to records of which some were refused. The JSON form of a 64-bit number is a string. */
const partialSchema = Type.Object({
  partialSuccess: Type.Object({
    rejectedLogRecords: Type.Unsafe<string | number>({ type: ['string', 'integer'] }),
  }),
})

/** A key and a text. */
export interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue: string }
}

/** A record of a log, in the JSON form of OTLP. */
export interface LogRecord {
  /** Nanoseconds since 1970. */
  readonly timeUnixNano: string
  readonly observedTimeUnixNano: string
  readonly severityNumber?: number
  readonly eventName?: string
  readonly body: { readonly stringValue: string }
  readonly attributes: readonly Attribute[]
}

/** The records of one source. */
export interface ResourceLogs {
  readonly resource: { readonly attributes: readonly Attribute[] }
  readonly scopeLogs: readonly {
    readonly scope: { readonly name: string }
    readonly logRecords: readonly LogRecord[]
  }[]
}

/** A collector's response. */
export interface LogsAnswer {
  readonly status: number
  /** Number of records that the collector refused; undefined if it refused the request. */
  readonly rejected: number | undefined
}

/** Returns an attribute. */
export function attribute(key: string, value: string): Attribute {
  return { key, value: { stringValue: value } }
}

/** Returns a time as OTLP has it. */
export function unixNano(timeMs: number): string {
  return `${timeMs}000000`
}

/**
 * Sends records to an OpenTelemetry collector, as JSON over HTTP. Source: OTLP 1.5.
 *
 * @throws an error when the collector does not respond, or asks to send the records again later
 */
export async function sendLogs(
  url: string,
  headers: Readonly<Record<string, string>>,
  resourceLogs: readonly ResourceLogs[],
  signal: AbortSignal,
): Promise<LogsAnswer> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
  const response = await postJson(url, headers, JSON.stringify({ resourceLogs }), limited)
  const { statusCode: status = 0 } = response
  const body = await readText(response)
  if (PASSING_STATUSES.has(status)) throw new Error(`status ${status}`)
  if (status < 200 || status > 299) return { status, rejected: undefined }
  return { status, rejected: Number(parseJson(partialSchema, body)?.partialSuccess.rejectedLogRecords ?? 0) }
}
