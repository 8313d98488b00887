import type { Destination, DestinationSettings } from './destination.ts'
import { FileDestination } from './file-destination.ts'
import { OtlpDestination } from './otlp-destination.ts'
import { SyslogDatagrams, SyslogSocket, SyslogStream } from './syslog-destination.ts'

/** Opens a destination; connections are made when lines are sent. */
export function openDestination(settings: DestinationSettings): Destination {
  if (settings.kind === 'file') return new FileDestination(settings)
  if (settings.kind === 'otlp') return new OtlpDestination(settings)
  if (settings.transport === 'unix') return new SyslogSocket(settings)
  return settings.transport === 'udp' ? new SyslogDatagrams(settings) : new SyslogStream(settings)
}
