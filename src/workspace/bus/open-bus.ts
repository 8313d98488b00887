import { BUS_PORT } from '../../lib/guest/protocol.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { Backend } from '../backend/backend.ts'
import { Bus } from './bus.ts'
import { BusCluster } from './cluster/cluster.ts'
import type { ExtensionSettings } from './extensions.ts'
import { serveGuest } from './guest-session.ts'
import type { BusSettings } from './settings.ts'
import type { AlarmClock } from '../../lib/clock/clock.ts'

/**
 * Opens a server's bus: accepts connections from the guests of its backends, and joins the buses of other
 * servers.
 */
export function openBus(
  config: { readonly name: string; readonly bus: BusSettings; readonly extensions: ExtensionSettings },
  backends: Iterable<Backend>,
  { logger, clock }: { readonly logger: Logger; readonly clock: AlarmClock },
): { readonly bus: Bus; readonly cluster: BusCluster } {
  const bus = new Bus({ server: config.name, requestTimeoutMs: config.bus.requestTimeoutMs, clock })
  for (const backend of backends) {
    backend.listenGuests?.(BUS_PORT, ({ workspace: name, token, connection }) =>
      serveGuest(connection, { name, backend: backend.name, token }, bus, {
        ...config.bus,
        extensions: config.extensions.enabled,
        clock,
      }),
    )
  }
  const cluster = new BusCluster(bus, { server: config.name, ...config.bus, logger })
  cluster.start()
  return { bus, cluster }
}
