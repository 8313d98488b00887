import { createRequire } from 'node:module'
import { pino, type Logger as PinoLogger } from 'pino'
import type * as pinoPretty from 'pino-pretty'
import type { LOG_FORMATS, LOG_LEVELS } from './levels.ts'

/** A structured logger. */
export type Logger = PinoLogger

/** Names of fields with secrets, which are never logged (threat W12). */
const SECRET_NAMES = [
  'authorization',
  'cookie',
  'password',
  'secret',
  'token',
  'secret_access_key',
  'session_token',
]

/** Options of a logger. */
export interface LogOptions {
  readonly level: (typeof LOG_LEVELS)[number]
  /** `auto`: pretty on a terminal, otherwise JSON lines. */
  readonly format: (typeof LOG_FORMATS)[number]
  /** Output stream; default: standard error. */
  readonly destination?: NodeJS.WritableStream
}

/** Creates a program's logger: JSON lines (one event each, newlines escaped), or colored text on a terminal, one line each except for errors. */
export function createLogger(options: LogOptions): Logger {
  const redact = SECRET_NAMES.flatMap((name) => [name, `*.${name}`, `*.*.${name}`])
  const destination = options.destination ?? process.stderr
  const pretty =
    options.format === 'pretty' || (options.format === 'auto' && 'isTTY' in destination && destination.isTTY)
  const settings = { level: options.level, base: null, redact: { paths: redact, censor: '[secret]' } }
  if (!pretty) return pino({ ...settings, timestamp: pino.stdTimeFunctions.isoTime }, destination)
  // Thirty modules, needed only on a terminal.
  const { PinoPretty } = createRequire(import.meta.url)('pino-pretty') as typeof pinoPretty
  const painted = PinoPretty({
    destination,
    sync: true,
    singleLine: true,
    ignore: 'pid,hostname',
    translateTime: 'HH:MM:ss',
  })
  return pino(settings, painted)
}
