import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/lib/clock/clock.ts'
import { createLogger } from '../../../src/lib/log/logger.ts'
import { workspaceSubject } from '../../../src/workspace/backend/trouble.ts'
import { WorkspaceTable } from '../../../src/workspace/lifecycle/table.ts'
import { Troubles } from '../../../src/workspace/lifecycle/troubles.ts'
import { Timeline } from '../../../src/workspace/timeline/timeline.ts'
import type { Workspace } from '../../../src/workspace/workspace.ts'

const what = 'limit the size of console logs'
const HOUR_MS = 3_600_000

function makeTroubles() {
  const lines: string[] = []
  const destination = new PassThrough().setEncoding('utf8').on('data', (line: string) => lines.push(line))
  const table = new WorkspaceTable()
  const timeline = new Timeline(systemClock)
  const clock = { wallMs: Date.now(), nowMs: () => 0 }
  const troubles = new Troubles({
    table,
    timeline,
    logger: createLogger({ level: 'info', format: 'json', destination }),
    clock: { nowMs: () => 0, wallMs: () => clock.wallMs },
  })
  const add = (name: string): unknown =>
    table.set({
      name,
      backend: 'qemu',
      state: { is: 'running' },
      createdAt: new Date(),
    } as unknown as Workspace)
  const logged = () => lines.map((line) => (JSON.parse(line) as { msg: string }).msg)
  const textsOf = (name: string) =>
    timeline.of(name).map((entry) => (entry.is === 'note' ? entry.text : entry.is))
  return { troubles, clock, add, logged, textsOf }
}

test('each cause is logged once, counted each time, and ends with a success', () => {
  const { troubles, clock, logged } = makeTroubles()
  const subject = workspaceSubject('demo')
  const fail = (message: string) => troubles.note('qemu', { what, error: new Error(message), subject })
  for (const message of ['ENOSPC', 'ENOSPC', 'EIO', 'ENOSPC', 'EIO']) fail(message)
  expect(logged()).toEqual([`a backend cannot ${what}`, `a backend cannot ${what}`])
  expect(troubles.current).toMatchObject([
    { backend: 'qemu', what, subject: 'workspace "demo"', message: 'EIO', count: 5 },
  ])
  troubles.note('qemu', { what, error: undefined, subject })
  troubles.note('qemu', { what, error: undefined, subject })
  expect(logged().slice(2)).toEqual([`a backend can ${what} again`])
  expect(troubles.current).toEqual([])
  // One that comes and goes is not logged each time.
  fail('ENOSPC')
  troubles.note('qemu', { what, error: undefined, subject })
  expect(logged().slice(3)).toEqual([])
  clock.wallMs += HOUR_MS
  fail('ENOSPC')
  expect(logged().slice(3)).toEqual([`a backend cannot ${what}`])
  expect(troubles.counts).toEqual([{ backend: 'qemu', what, count: 7 }])
})

test('a success of one part leaves the trouble of another', () => {
  const { troubles } = makeTroubles()
  const outcome = (name: string, error: unknown) => ({ what, error, subject: workspaceSubject(name) })
  troubles.note('qemu', outcome('one', new Error('ENOSPC')))
  troubles.note('qemu', outcome('two', undefined))
  troubles.note('firecracker', outcome('one', undefined))
  troubles.note('qemu', { what: 'other work', error: undefined })
  expect(troubles.current).toHaveLength(1)
})

test('the timelines of workspaces that are concerned have it once, also of those that become known later', () => {
  const { troubles, add, textsOf } = makeTroubles()
  add('demo')
  add('other')
  const fail = (error: unknown) => troubles.note('qemu', { what, error, subject: workspaceSubject('demo') })
  fail(new Error('ENOSPC'))
  fail(new Error('EIO'))
  troubles.note('qemu', { what, error: new Error('EIO'), subject: workspaceSubject('late') })
  add('late')
  troubles.addToTimelines()
  troubles.addToTimelines()
  fail(undefined)
  expect(textsOf('demo')).toEqual([`the server cannot ${what}: ENOSPC`, `the server can ${what} again`])
  expect(textsOf('late')).toEqual([`the server cannot ${what}: EIO`])
  expect(textsOf('other')).toEqual([])
})

test('troubles and the causes of each are bounded, and work that is not repeated is forgotten', () => {
  const { troubles, clock, logged } = makeTroubles()
  for (let i = 0; i < 50; i++) troubles.note('qemu', { what, error: new Error(`port ${i}`) })
  expect(logged()).toHaveLength(8)
  for (let i = 0; i < 300; i++)
    troubles.note('qemu', { what, error: new Error('EIO'), subject: workspaceSubject(`demo-${i}`) })
  expect(troubles.current).toHaveLength(50)
  clock.wallMs += 25 * HOUR_MS
  troubles.note('qemu', { what, error: new Error('EIO') })
  expect(troubles.current).toHaveLength(1)
})
