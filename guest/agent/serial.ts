import { readdirSync, readFileSync } from 'node:fs'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { AGENT_SERIAL } from '../../src/lib/guest/protocol.ts'
import { Mux } from '../../src/lib/mux/mux.ts'
import { serveSerial } from '../../src/lib/mux/serial.ts'
import { openDevice } from '../../src/native/net/vsock.ts'

const PORTS = '/sys/class/virtio-ports'
const RETRY_MS = 200

/** The current line; undefined if there is none. */
let line: Mux | undefined

/** Connects to a port of the host over the line; undefined if there is none. */
export function connectBySerial(port: number): Duplex | undefined {
  return line === undefined || line.isClosed ? undefined : line.open(Buffer.from(String(port)))
}

/**
 * Serves the host over a virtio serial port, if there is one. The other side can close and reopen it at any time,
 * after which the port reports the end of file until it is reopened.
 */
export async function serveSerialPort(serve: (connection: Duplex) => void): Promise<void> {
  for (;;) {
    const device = findDevice()
    if (device !== undefined) await servedOnce(device, serve)
    await delay(RETRY_MS)
  }
}

async function servedOnce(device: string, serve: (connection: Duplex) => void): Promise<void> {
  try {
    const port = openDevice(device)
    const closed = new Promise((resolve) => port.once('close', resolve))
    const stop = serveSerial(port, 'second', (session) => {
      const mux = new Mux(session, { isFirst: false, onChannel: serve })
      line = mux
      session.once('close', () => mux.close())
    })
    port.once('end', stop)
    await closed
  } catch {
    // The previous descriptor is still being closed.
  }
}

function findDevice(): string | undefined {
  try {
    const name = readdirSync(PORTS).find(
      (port) => readFileSync(`${PORTS}/${port}/name`, 'utf8').trim() === AGENT_SERIAL,
    )
    return name === undefined ? undefined : `/dev/${name}`
  } catch {
    return undefined
  }
}
