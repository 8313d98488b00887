import { type Duplex, duplexPair } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { Uplink } from '../../../../guest/agent/bus/uplink.ts'
import { Bus } from '../../../../src/workspace/bus/bus.ts'
import { serveGuest } from '../../../../src/workspace/bus/guest-session.ts'
import { waitFor } from '../../../support/wait-for.ts'
import { systemClock } from '../../../../src/lib/clock/clock.ts'

const MACHINES = 200

test('F19 200 machines reconnect to a restarted host with a few attempts each', async () => {
  const bus = new Bus({ server: 'host', requestTimeoutMs: 60_000, clock: systemClock })
  const connections = new Set<Duplex>()
  let isThere = true
  let isOver = false
  const triesMs: number[] = []
  onTestFinished(() => {
    isOver = true
    for (const connection of connections) connection.destroy()
  })
  const connect = (name: string) => (): Promise<Duplex> => {
    // Attempts that continue after the test would keep it from ending.
    if (isOver) return new Promise(() => undefined)
    triesMs.push(performance.now())
    if (!isThere) return Promise.reject(new Error('connection refused'))
    const [host, guest] = duplexPair()
    connections.add(host)
    serveGuest(host, { name, backend: 'qemu', token: 'token' }, bus, {
      maxMessageBytes: 4096,
      extensions: [],
      clock: systemClock,
    })
    return Promise.resolve(guest)
  }
  for (let i = 0; i < MACHINES; i++) new Uplink(connect(`machine-${i}`)).begin('token')
  await waitFor('all', () => bus.workspaces().length === MACHINES)
  isThere = false
  triesMs.length = 0
  for (const connection of connections) connection.destroy()
  connections.clear()
  await waitFor('three tries of each', () => triesMs.length > 3 * MACHINES)
  isThere = true
  await waitFor('all again', () => bus.workspaces().length === MACHINES)
  // 200 ms, 400 ms and so on, each multiplied by 0.5 to 1.5.
  expect(triesMs.length).toBeLessThan(8 * MACHINES)
  const firstMs = triesMs.slice(0, MACHINES).map((atMs) => atMs - (triesMs[0] ?? 0))
  expect(Math.max(...firstMs)).toBeGreaterThan(100)
})
