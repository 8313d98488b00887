import { createRequire } from 'node:module'
import { pino, type Logger as PinoLogger } from 'pino'
import type * as pinoPretty from 'pino-pretty'
import type { LOG_FORMATS, LOG_LEVELS } from './levels.ts'

export type Logger = PinoLogger

/** Names under which a secret may travel; their values never reach a log line (threat W12). */
const SECRET_NAMES = [
  'authorization',
  'cookie',
  'password',
  'secret',
  'token',
  'secret_access_key',
  'session_token',
]

export interface LogOptions {
  readonly level: (typeof LOG_LEVELS)[number]
  /** `auto` is pretty on a terminal and JSON lines elsewhere. */
  readonly format: (typeof LOG_FORMATS)[number]
  /** Where lines go; standard error unless a test wants them. */
  readonly destination?: NodeJS.WritableStream
}

/** The one logger of a program: JSON lines (one event each, newlines escaped) or coloured text on a terminal. */
export function createLogger(options: LogOptions): Logger {
  const redact = SECRET_NAMES.flatMap((name) => [name, `*.${name}`, `*.*.${name}`])
  const destination = options.destination ?? process.stderr
  const pretty =
    options.format === 'pretty' || (options.format === 'auto' && 'isTTY' in destination && destination.isTTY)
  const settings = { level: options.level, base: null, redact: { paths: redact, censor: '[secret]' } }
  if (!pretty) return pino({ ...settings, timestamp: pino.stdTimeFunctions.isoTime }, destination)
  // Thirty modules, which only a terminal has a use for.
  const { PinoPretty } = createRequire(import.meta.url)('pino-pretty') as typeof pinoPretty
  const painted = PinoPretty({ destination, sync: true, ignore: 'pid,hostname', translateTime: 'HH:MM:ss' })
  return pino(settings, painted)
}
