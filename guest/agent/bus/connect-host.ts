import type { Duplex } from 'node:stream'
import { BUS_PORT } from '../../../src/lib/guest/protocol.ts'
import { canUseVsock, connectVsock } from '../../../src/native/net/vsock.ts'
import { connectBySerial } from '../serial.ts'

/** The host's address. Source: vsock(7). */
const HOST = 2
const TIMEOUT_MS = 5_000

/** Connects to the host's bus over the serial port, or else over vsock. Rejects while the host is not listening. */
export async function connectHost(): Promise<Duplex> {
  const bySerial = connectBySerial(BUS_PORT)
  if (bySerial !== undefined) return bySerial
  if (!canUseVsock()) throw new Error('this machine has neither vsock nor a serial port to its host')
  return connectVsock(HOST, BUS_PORT, TIMEOUT_MS)
}
