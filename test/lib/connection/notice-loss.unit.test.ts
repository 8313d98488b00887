import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { LossWatch } from '../../../src/lib/connection/notice-loss.ts'
import { FakeClock } from '../../support/fake-clock.ts'

/** A watch whose connections have the silence that the test sets. */
function watch() {
  const clock = new FakeClock()
  const silences = new Map<Socket, number | undefined>()
  const watched = new LossWatch(clock, (socket) => silences.get(socket))
  return {
    clock,
    silences,
    add: (silenceMs = 20_000): Socket => {
      const socket = new Socket()
      watched.watch(socket, silenceMs)
      return socket
    },
  }
}

test('F31 the connection of a vanished peer is destroyed, and others are not', async () => {
  const { clock, silences, add } = watch()
  const [dead, patient, alive] = [add(), add(45_000), add()]
  const ended = new Map<Socket, number>()
  for (let ms = 5_000; ms <= 60_000; ms += 5_000) {
    silences.set(dead, ms).set(patient, ms)
    // It acknowledges the probes that begin after 15 s.
    silences.set(alive, ms % 15_000)
    await clock.pass(5_000)
    for (const socket of [dead, patient, alive])
      if (socket.destroyed && !ended.has(socket)) ended.set(socket, ms)
  }
  expect([dead, patient, alive].map((socket) => ended.get(socket))).toEqual([25_000, 50_000, undefined])
  alive.destroy()
})

test('a machine that was suspended asks its peers before it gives them up', async () => {
  const { clock, silences, add } = watch()
  const [present, gone] = [add(), add()]
  silences.set(present, 900_000).set(gone, 900_000)
  await clock.pass(5_000)
  expect([present, gone].map(({ destroyed }) => destroyed)).toEqual([false, false])
  silences.set(present, 3)
  await clock.pass(5_000)
  expect([present, gone].map(({ destroyed }) => destroyed)).toEqual([false, true])
  present.destroy()
})

test('a connection whose silence is unknown is never destroyed', async () => {
  const { clock, add } = watch()
  const socket = add()
  await clock.pass(3_600_000)
  expect(socket.destroyed).toBe(false)
  socket.destroy()
})

test('nothing is checked when no connection is open', async () => {
  const { clock, add } = watch()
  const sockets = [add(), add()]
  await clock.pass(12_000)
  for (const socket of sockets) socket.destroy()
  await new Promise((resolve) => setImmediate(resolve))
  expect(clock.timers).toBe(0)
  const next = add()
  expect(clock.timers).toBe(1)
  next.destroy()
})
