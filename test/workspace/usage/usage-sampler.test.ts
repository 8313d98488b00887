import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { WorkspaceTable } from '../../../src/workspace/lifecycle/table.ts'
import { UsageSampler } from '../../../src/workspace/usage/usage-sampler.ts'
import { createIn } from '../../support/workspace/backend/backends.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { readEventStream } from '../../support/http/event-stream.ts'
import { dockerBackend, uniqueName } from '../../support/engine/docker.ts'
import { call, makeWorkspace, startWorkspaceServer } from '../../support/workspace/server/test-server.ts'
import { systemClock } from '../../../src/lib/clock/clock.ts'

const backend = new FakeBackend()
const table = new WorkspaceTable()
let nowMs = 0
let sampler: UsageSampler
beforeEach(async () => {
  nowMs = 0
  sampler = new UsageSampler(table, new Map([['docker', backend]]), { ...systemClock, nowMs: () => nowMs })
  for (const name of ['busy', 'idle']) table.set(await createIn(backend, name))
  backend.loadsNow.set('fake-busy', { cpuMs: 10_000, memoryBytes: 300 })
  backend.loadsNow.set('fake-idle', { cpuMs: 5, memoryBytes: 200 })
})
afterEach(() => backend.close())

test('CPU usage is reported from the second sample on, in percent of one CPU', async () => {
  expect(await sampler.read()).toEqual([
    { name: 'busy', cpuPercent: undefined, memoryBytes: 300 },
    { name: 'idle', cpuPercent: undefined, memoryBytes: 200 },
  ])
  nowMs += 2_000
  backend.loadsNow.set('fake-busy', { cpuMs: 13_000, memoryBytes: 400 })
  expect(await sampler.read()).toEqual([
    { name: 'busy', cpuPercent: 150, memoryBytes: 400 },
    { name: 'idle', cpuPercent: 0, memoryBytes: 200 },
  ])
})

test('CPU usage is undefined, not negative, after a restart', async () => {
  await sampler.read()
  nowMs += 2_000
  backend.loadsNow.set('fake-busy', { cpuMs: 1, memoryBytes: 300 })
  expect(await sampler.read()).toContainEqual({ name: 'busy', cpuPercent: undefined, memoryBytes: 300 })
})

test('callers within a second, or during a sample, share it', async () => {
  const [first, second] = await Promise.all([sampler.read(), sampler.read()])
  expect(second).toBe(first)
  nowMs += 900
  expect(await sampler.read()).toBe(first)
  nowMs += 200
  expect(await sampler.read()).not.toBe(first)
})

test('workspaces that are stopped or cannot be measured are left out', async () => {
  table.set({ ...table.get('busy'), state: { is: 'stopped' } })
  expect((await sampler.read()).map(({ name }) => name)).toEqual(['idle'])
  nowMs += 2_000
  backend.loadsNow.clear()
  expect(await sampler.read()).toEqual([])
})

test('a server reports the usage of containers, once and as a stream', async () => {
  const server = await startWorkspaceServer({ backends: () => [dockerBackend()] })
  const name = uniqueName('usage')
  onTestFinished(async () => {
    await server.api(`workspaces/${name}`, 'DELETE')
    await server.stop()
  })
  await makeWorkspace(server.url, { name })
  const url = `${server.url}/api/usage`
  const first = await call(url)
  expect(first.body).toEqual({ workspaces: [{ name, cpu_percent: null, memory_bytes: expect.any(Number) }] })
  expect(first.body.workspaces[0].memory_bytes).toBeGreaterThan(10_000)
  const stream = await readEventStream(url, { accept: 'text/event-stream' })
  const events = await stream.first(2)
  expect(events.map(({ event }) => event)).toEqual(['usage', 'usage'])
  expect(events[1]?.data.workspaces).toEqual([
    { name, cpu_percent: expect.any(Number), memory_bytes: expect.any(Number) },
  ])
})
