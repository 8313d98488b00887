import { resolve } from 'node:path'
import { configFault } from '../../lib/config/check.ts'
import type { Settings } from '../config-schema.ts'
import type { DestinationSettings } from '../shipping/destination.ts'
import { interpolate } from '../process/interpolate.ts'

interface Place {
  readonly file: string
  /** Directory that paths are relative to. */
  readonly base: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

const SYSLOG_PORT = 514

/** Returns the destinations of lines by name. @throws CONFIG_INVALID with a line for each mistake */
export function toDestinations(
  { log }: Settings,
  place: Place,
): readonly (readonly [name: string, settings: DestinationSettings])[] {
  const mistakes: string[] = []
  const destinations = Object.entries(log.ship).flatMap(([name, one]) => {
    const settings = destinationOf(one, log, place)
    if (typeof settings !== 'string') return [[name, settings] as const]
    mistakes.push(`${place.file}: "log.ship.${name}" ${settings}`)
    return []
  })
  if (mistakes.length > 0) throw configFault('CONFIG_INVALID', mistakes.join('\n'))
  return destinations
}

/** Returns the settings of a destination, or what is wrong with them. */
function destinationOf(
  { file, syslog, otlp, headers }: Settings['log']['ship'][string],
  { maxFileBytes, keepFiles }: Settings['log'],
  { base, environment }: Place,
): DestinationSettings | string {
  if ([file, syslog, otlp].filter((each) => each !== undefined).length !== 1)
    return 'must have one of file, syslog and otlp'
  const resolved = (text: string): string => interpolate(text, environment)
  if (file !== undefined)
    return { kind: 'file', path: resolve(base, resolved(file)), maxBytes: maxFileBytes, keep: keepFiles }
  if (syslog !== undefined) return syslogOf(resolved(syslog))
  const url = resolved(otlp ?? '')
  if (!URL.canParse(url) || !/^https?:/.test(url)) return 'must have an http or https URL as otlp'
  const resolvedHeaders = Object.entries(headers).map(([name, value]) => [name, resolved(value)])
  return { kind: 'otlp', url, headers: Object.fromEntries(resolvedHeaders) }
}

function syslogOf(address: string): DestinationSettings | string {
  const url = URL.canParse(address) ? new URL(address) : undefined
  const transport = url?.protocol.slice(0, -1)
  if (url !== undefined && transport === 'unix' && url.pathname.startsWith('/'))
    return { kind: 'syslog', transport, host: decodeURIComponent(url.pathname), port: 0 }
  if (url === undefined || (transport !== 'udp' && transport !== 'tcp') || url.hostname === '')
    return 'must have udp://HOST:PORT, tcp://HOST:PORT or unix:///PATH as syslog'
  const host = url.hostname.replaceAll(/[[\]]/g, '')
  return { kind: 'syslog', transport, host, port: Number(url.port) || SYSLOG_PORT }
}
