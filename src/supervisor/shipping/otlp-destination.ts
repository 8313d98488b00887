import { hostname } from 'node:os'
import { attribute, type LogRecord, type ResourceLogs, sendLogs, unixNano } from '../../lib/otlp/send-logs.ts'
import type { LogLine } from '../log/log-line.ts'
import type { Destination, DestinationSettings } from './destination.ts'

/** Sends lines to an OpenTelemetry collector. */
export class OtlpDestination implements Destination {
  readonly #settings: Extract<DestinationSettings, { readonly kind: 'otlp' }>

  constructor(settings: Extract<DestinationSettings, { readonly kind: 'otlp' }>) {
    this.#settings = settings
  }

  send = async (lines: readonly LogLine[], signal: AbortSignal): Promise<number> => {
    const { url, headers } = this.#settings
    const { rejected } = await sendLogs(url, headers, toOtlp(lines), signal)
    return rejected ?? lines.length
  }

  close = (): void => undefined
}

/** Formats lines: a resource for each process. */
function toOtlp(lines: readonly LogLine[]): readonly ResourceLogs[] {
  return [...Map.groupBy(lines, ({ process }) => process)].map(([process, own]) => ({
    resource: { attributes: [attribute('service.name', process), attribute('host.name', hostname())] },
    scopeLogs: [{ scope: { name: 'supervisor' }, logRecords: own.map(toRecord) }],
  }))
}

function toRecord({ timeMs, stream, text }: LogLine): LogRecord {
  const time = unixNano(timeMs)
  return {
    timeUnixNano: time,
    observedTimeUnixNano: time,
    body: { stringValue: text },
    attributes: [attribute('log.iostream', stream)],
  }
}
