import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { encodeFrame, FRAME, FrameReader } from '../../../../../src/lib/mux/frame.ts'
import { serveSerial } from '../../../../../src/lib/mux/serial.ts'
import { MAX_CONNECTIONS } from '../../../../../src/workspace/backend/microvm/guest/guest-ports.ts'
import { SerialBridge } from '../../../../../src/workspace/backend/microvm/guest/serial-bridge.ts'
import { waitFor } from '../../../../support/wait-for.ts'

test('B5 a guest has at most 64 connections through its serial port, however many channels it opens', async () => {
  const directory = mkdtempSync('/tmp/vm-')
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  let connections = 0
  const host = createServer((connection) => {
    connections++
    connection.on('error', () => undefined).resume()
    connection.once('close', () => connections--)
  }).listen(join(directory, 'vsock.sock_1024'))
  onTestFinished(() => void host.close())
  const opened = 300
  let refused = 0
  const attack = (session: Duplex): void => {
    // Both sides start a session at first; the one that survives counts.
    refused = 0
    const reader = new FrameReader()
    session.on('data', (bytes: Buffer) => {
      // The mark of another session, which is not a frame.
      if (bytes[0] === 0 && bytes[4] === 0) return
      reader.add(bytes)
      for (let frame = reader.next(); frame !== undefined; frame = reader.next())
        if (frame.kind === FRAME.reset) refused++
    })
    for (let id = 0; id < opened; id++)
      session.write(Buffer.concat(encodeFrame(2_000 + id, FRAME.open, Buffer.from('1024'))))
  }
  const line = createServer((socket) => {
    serveSerial(
      socket.on('error', () => undefined),
      'second',
      attack,
    )
    onTestFinished(() => void socket.destroy())
  }).listen(join(directory, 'serial.sock'))
  onTestFinished(() => void line.close())
  await Promise.all([once(host, 'listening'), once(line, 'listening')])
  const bridge = await SerialBridge.open(join(directory, 'serial.sock'), join(directory, 'vsock.sock'))
  onTestFinished(() => bridge.close())
  await waitFor('all that are too many to be refused', () => refused === opened - MAX_CONNECTIONS)
  await waitFor('the others', () => connections === MAX_CONNECTIONS)
  expect(refused + connections).toBe(opened)
})
