import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import type { AlarmClock } from '../../lib/clock/clock.ts'
import { pause } from '../../lib/clock/pause.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { openSealedJson, sealJson } from '../../lib/fs/sealed-json.ts'
import { ignoreMissing } from '../../lib/fs/ignore-missing.ts'
import { writeFileDurable } from '../../lib/fs/write-durable.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { attribute, type LogRecord, sendLogs, unixNano } from '../../lib/otlp/send-logs.ts'
import { parseJson } from '../../lib/schema/parse-json.ts'
import { Type } from '../../lib/schema/type.ts'
import { EntryReader, type Lines } from './entry-reader.ts'

/** Entries sent at once. */
const BATCH = 500
const FIRST_DELAY_MS = 1_000
const LONGEST_DELAY_MS = 60_000
/** Time for what is left when the server stops; the next one sends the rest. */
const CLOSING_MS = 2_000
/** Statuses for records that a collector does not accept; others may change, such as that for a wrong token. */
const UNACCEPTABLE = new Set([400, 413, 422])
// Source: OpenTelemetry's data model of logs, "Severity Fields".
const [INFO, WARN] = [9, 13]

const positionSchema = Type.Object({
  offset: Type.Integer({ minimum: 0 }),
  tail: Type.String({ maxLength: 200 }),
})
const entrySchema = Type.Object({ time: Type.String(), action: Type.String(), outcome: Type.String() })

interface ExporterOptions {
  /** Where entries are sent. */
  readonly url: string
  /** File with a token to send, read each time. */
  readonly tokenFile: string | undefined
  /** The audit file. */
  readonly file: string
  /** File that keeps what was sent. */
  readonly stateFile: string
  readonly clock: AlarmClock
  readonly logger: Logger
}

/**
 * Sends the entries of an audit file to an OpenTelemetry collector, in order and at least once: what was sent is noted after
 * the collector has confirmed it, and the next server continues there.
 */
export class AuditExporter {
  readonly #options: ExporterOptions
  readonly #reader: EntryReader
  readonly #closing = new AbortController()
  #batch = BATCH
  #isFailing = false
  #sending: Promise<void> | undefined
  #isWoken = false

  static async open(options: ExporterOptions): Promise<AuditExporter> {
    const text = await readFile(options.stateFile, 'utf8').catch(ignoreMissing)
    const position = text === undefined ? undefined : openSealedJson(positionSchema, text)
    if (text !== undefined && position === undefined)
      options.logger.warn(`${options.stateFile} is damaged; the audit file is sent from its beginning`)
    return new AuditExporter(options, new EntryReader(options.file, position))
  }

  private constructor(options: ExporterOptions, reader: EntryReader) {
    this.#options = options
    this.#reader = reader
  }

  /** Sends what was written since. */
  wake(): void {
    this.#isWoken = true
    this.#sending ??= this.#sendAll()
  }

  /** Sends what is left, for a short time. */
  async close(): Promise<void> {
    const cancel = this.#options.clock.after(CLOSING_MS, () => this.#closing.abort())
    // One that waits for its next attempt does not begin another.
    if (this.#isFailing) this.#closing.abort()
    await this.#sending
    cancel()
    await this.#reader.close()
  }

  async #sendAll(): Promise<void> {
    const { signal } = this.#closing
    let delayMs = FIRST_DELAY_MS
    while (this.#isWoken && !signal.aborted) {
      this.#isWoken = false
      try {
        await this.#sendNew()
        delayMs = FIRST_DELAY_MS
      } catch (error) {
        if (signal.aborted) break
        this.#report(error)
        this.#isWoken = true
        await pause(this.#options.clock, delayMs, signal)
        delayMs = Math.min(2 * delayMs, LONGEST_DELAY_MS)
      }
    }
    this.#sending = undefined
  }

  async #sendNew(): Promise<void> {
    for (;;) {
      const found = await this.#reader.next(this.#batch)
      if (found === undefined) return
      if (!(await this.#send(found.lines))) continue
      await writeFileDurable(this.#options.stateFile, sealJson(found.position), { mode: 0o600 })
      this.#reader.advance(found)
      this.#batch = BATCH
      if (this.#isFailing) this.#options.logger.info('audit entries are sent to the collector again')
      this.#isFailing = false
    }
  }

  /** Returns whether lines are done with; if not, fewer of them are tried. */
  async #send(lines: Lines['lines']): Promise<boolean> {
    const { url, tokenFile, logger } = this.#options
    const logRecords = lines.flatMap((line) => toRecord(line) ?? [])
    if (logRecords.length === 0) return true
    const token = tokenFile === undefined ? undefined : (await readFile(tokenFile, 'utf8')).trim()
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const resource = {
      attributes: [attribute('service.name', 'workspace'), attribute('host.name', hostname())],
    }
    const logs = [{ resource, scopeLogs: [{ scope: { name: 'workspace.audit' }, logRecords }] }]
    const { status, rejected } = await sendLogs(url, headers, logs, this.#closing.signal)
    if (rejected !== undefined) {
      if (rejected > 0) logger.error({ entries: rejected }, 'the collector refused audit entries')
      return true
    }
    if (!UNACCEPTABLE.has(status)) throw new Error(`status ${status}`)
    if (lines.length > 1) {
      this.#batch = Math.ceil(lines.length / 2)
      return false
    }
    logger.error({ status, entry: lines[0] }, 'the collector refused an audit entry')
    return true
  }

  #report(error: unknown): void {
    if (!this.#isFailing)
      this.#options.logger.warn(
        `audit entries cannot be sent to ${this.#options.url}, trying again: ${messageOf(error)}`,
      )
    this.#isFailing = true
  }
}

/** Formats an entry; undefined for the rest of an interrupted write. */
function toRecord(line: string): LogRecord | undefined {
  const entry = parseJson(entrySchema, line)
  const timeMs = Date.parse(entry?.time ?? '')
  if (entry === undefined || Number.isNaN(timeMs)) return undefined
  const time = unixNano(timeMs)
  const { action, outcome } = entry
  const fields = Object.entries(entry as Readonly<Record<string, unknown>>)
  return {
    timeUnixNano: time,
    observedTimeUnixNano: time,
    severityNumber: outcome === 'ok' ? INFO : WARN,
    eventName: action,
    body: { stringValue: line },
    attributes: fields
      .filter(([key, value]) => key !== 'time' && value !== '')
      .map(([key, value]) => attribute(`workspace.audit.${key}`, String(value))),
  }
}
