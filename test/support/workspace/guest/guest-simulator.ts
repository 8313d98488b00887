import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { onTestFinished } from 'vitest'
import { servePublish } from '../../../../guest/agent/bus/publish-server.ts'
import { Uplink } from '../../../../guest/agent/bus/uplink.ts'
import { type ExtensionParts, Extensions } from '../../../../guest/agent/extensions/extensions.ts'
import type { FakeBackend } from '../backend/fake-backend.ts'

const NO_EXTENSIONS: ExtensionParts = {
  readManifest: () => undefined,
  services: {
    start: () => Promise.resolve(),
    states: (units) => Promise.resolve(units.map(() => 'stopped')),
  },
}
const TOKEN = 'test-agent-token'

/** Guest programs without a VM. */
export type SimulatedGuest = Awaited<ReturnType<typeof startSimulatedGuest>>

/** Like `startSimulatedGuest`, stopped with the test. */
export async function simulatedGuest(
  backend: FakeBackend,
  name: string,
  timeoutMs?: number,
  extensions?: ExtensionParts,
) {
  const guest = await startSimulatedGuest(backend, name, timeoutMs, extensions)
  onTestFinished(() => guest.close())
  return guest
}

/** The bus part of a guest's agent in this process, on its own port. */
export async function startSimulatedGuest(
  backend: FakeBackend,
  name: string,
  timeoutMs?: number,
  parts: ExtensionParts = NO_EXTENSIONS,
) {
  let isReachable = true
  const connections: Duplex[] = []
  const connectHost = (): Promise<Duplex> => {
    if (!isReachable) return Promise.reject(new Error('nobody listens'))
    const connection = backend.callHost(name, TOKEN)
    connections.push(connection)
    return Promise.resolve(connection)
  }
  const uplink: Uplink = new Uplink(connectHost, timeoutMs, (enabled) => void extensions.enable(enabled))
  const extensions = new Extensions(parts, uplink)
  uplink.begin(TOKEN)
  const server = servePublish(uplink, 0)
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/publish`
  return {
    url,
    /** Posts a message; returns the status and the body, if any. */
    async publish(message: unknown, headers: Readonly<Record<string, string>> = {}) {
      const body = typeof message === 'string' ? message : JSON.stringify(message)
      const response = await fetch(url, { method: 'POST', body, headers })
      const text = await response.text()
      return {
        status: response.status,
        text,
        body: text.startsWith('{') ? JSON.parse(text.split('\n')[0] ?? '') : undefined,
      }
    },
    /** Closes its connection and does not reconnect until allowed. */
    lose() {
      isReachable = false
      for (const connection of connections.splice(0)) connection.destroy()
    },
    find: () => void (isReachable = true),
    close() {
      isReachable = false
      extensions.close()
      server.close()
      for (const connection of connections) connection.destroy()
    },
  }
}
