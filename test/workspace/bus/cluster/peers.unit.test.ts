import { expect, test } from 'vitest'
import { Origins } from '../../../../src/workspace/bus/cluster/origins.ts'
import { Peers } from '../../../../src/workspace/bus/cluster/peers.ts'

const clockOf = () => {
  const clock = { atMs: 0, nowMs: () => clock.atMs, wallMs: () => clock.atMs }
  return clock
}
const peer = (server: string, ...namespaces: readonly string[]) => ({
  server,
  instance: 'first',
  listeners: new Map(namespaces.map((namespace) => [namespace, new Date(0)])),
})

test('F31 a server that is silent for too long is dropped with its listeners', () => {
  const clock = clockOf()
  const peers = new Peers(6_000, clock)
  peers.update(peer('one', 'demo'))
  clock.atMs = 4_000
  peers.update(peer('two'))
  clock.atMs = 6_000
  expect(peers.listening('demo')?.server).toBe('one')
  clock.atMs = 6_001
  expect(peers.listening('demo')).toBeUndefined()
  expect(peers.all().map(({ server }) => server)).toEqual(['two'])
})

test('a server counts as new when it was missing, was silent for too long, or has restarted', () => {
  const clock = clockOf()
  const peers = new Peers(6_000, clock)
  expect(peers.update(peer('one'))).toBe(true)
  expect(peers.update(peer('one', 'demo'))).toBe(false)
  expect(peers.update({ ...peer('one'), instance: 'second' })).toBe(true)
  expect(peers.listening('demo')).toBeUndefined()
  clock.atMs = 6_001
  expect(peers.update({ ...peer('one'), instance: 'second' })).toBe(true)
  peers.forget('one')
  expect(peers.all()).toEqual([])
})

test('B5 origins of requests are remembered until they expire, for at most 50,000 requests', () => {
  const clock = clockOf()
  const origins = new Origins(30_000, clock)
  origins.add('old', 'one')
  clock.atMs = 30_001
  origins.add('new', 'two')
  expect([origins.of('old'), origins.of('new')]).toEqual([undefined, 'two'])
  for (let i = 0; i < 50_000; i++) origins.add(String(i), 'three')
  expect([origins.of('new'), origins.of('0'), origins.of('49999')]).toEqual([undefined, 'three', 'three'])
})
