import { expect, onTestFinished, test } from 'vitest'
import type { Clock } from '../../../src/lib/clock/clock.ts'
import { createLogger } from '../../../src/lib/log/logger.ts'
import { CheckpointSchedule } from '../../../src/workspace/activity/checkpoint-schedule.ts'
import type { AuditSubject } from '../../../src/workspace/audit/audit-log.ts'
import { Checkpointer } from '../../../src/workspace/lifecycle/checkpointer.ts'
import { WorkspaceTable } from '../../../src/workspace/lifecycle/table.ts'
import { Timeline } from '../../../src/workspace/timeline/timeline.ts'
import type { CheckpointPlan } from '../../../src/workspace/workspace-settings.ts'
import { backendCreate } from '../../support/workspace/backend/backend-create.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/** A running workspace `demo` with a plan, and a manual clock. */
async function world(plan: CheckpointPlan | undefined) {
  let nowMs = 1_000 * DAY_MS
  const clock: Clock = { wallMs: () => nowMs, nowMs: () => nowMs }
  const backend = new FakeBackend()
  onTestFinished(() => backend.close())
  const request = backendCreate('demo', 'any:1', { createdAt: new Date(0) })
  const workspace = await backend.create(request, () => undefined, new AbortController().signal)
  const table = new WorkspaceTable((each) => ({ ...each, checkpoints: plan }))
  table.set(workspace)
  const checkpointer = new Checkpointer({
    table,
    backends: new Map([['docker', backend]] as const),
    lifecycle: {
      whileIdle: (name, work) => work(table.find(name), () => Promise.resolve()),
      startIf: () => Promise.resolve(),
    },
    timeline: new Timeline(clock),
    clock,
  })
  const logger = createLogger({ level: 'silent', format: 'json' })
  const create = () => new CheckpointSchedule({ table, checkpointer, audit, logger, clock })
  const audited: string[] = []
  const audit = {
    record: (subject: AuditSubject) =>
      void audited.push([subject.action, subject.workspace, subject.reason].join(' ')),
  }
  let schedule = create()
  return {
    backend,
    table,
    workspace,
    checkpointer,
    audited,
    reasons: async () => (await checkpointer.list('demo')).map(({ reason }) => reason),
    pass: async (ms: number) => {
      nowMs += ms
      await schedule.check()
    },
    restart: () => (schedule = create()),
  }
}

test('checkpoints are taken at the interval of the plan, also across a restart, while the workspace runs', async () => {
  const { pass, reasons, restart, table, workspace } = await world({ everyMs: 10 * MINUTE_MS })
  await pass(0)
  await pass(10 * MINUTE_MS - 1)
  expect(await reasons()).toEqual([])
  await pass(1)
  expect(await reasons()).toEqual(['schedule'])
  restart()
  await pass(9 * MINUTE_MS)
  expect(await reasons()).toHaveLength(1)
  await pass(MINUTE_MS)
  expect(await reasons()).toHaveLength(2)
  table.set({ ...workspace, state: { is: 'stopped' } })
  await pass(DAY_MS)
  expect(await reasons()).toHaveLength(2)
})

test('without a plan none are taken, and with one without an interval only those of idle stops', async () => {
  for (const [plan, expected] of [
    [undefined, []],
    [{}, ['idle']],
  ] as const) {
    const { pass, reasons, checkpointer } = await world(plan)
    for (let i = 0; i < 3; i += 1) await pass(DAY_MS)
    await checkpointer.takeForPlan('demo', 'idle')
    expect(await reasons()).toEqual(expected)
  }
})

test('checkpoints are thinned by number and age, but not those of clients', async () => {
  const plan = { everyMs: MINUTE_MS, keep: 2, maxAgeMs: DAY_MS }
  const { pass, reasons, checkpointer, audited } = await world(plan)
  await checkpointer.take('demo', 'mine')
  for (let i = 0; i < 5; i += 1) await pass(MINUTE_MS)
  expect(await reasons()).toEqual(['manual', 'schedule', 'schedule'])
  const [taken, deleted] = ['checkpoint.create demo schedule', 'checkpoint.delete demo schedule']
  expect(audited).toEqual([taken, taken, taken, deleted, taken, deleted, taken, deleted])
  await pass(DAY_MS)
  expect(await reasons()).toEqual(['manual', 'schedule', 'schedule'])
  await pass(2 * DAY_MS)
  expect(await reasons()).toEqual(['manual', 'schedule'])
})

test('rewinds delete neither their target nor what undoes them', async () => {
  const { pass, checkpointer } = await world({ keep: 1 })
  await checkpointer.takeForPlan('demo', 'idle')
  const [target] = await checkpointer.list('demo')
  for (let i = 0; i < 3; i += 1) {
    await pass(MINUTE_MS)
    const { before } = await checkpointer.rewind('demo', target?.id ?? '')
    const ids = (await checkpointer.list('demo')).map(({ id }) => id)
    expect(ids).toEqual([target?.id, before.id])
  }
})

test('a checkpoint is left out if nothing was written since the last one, and a failure is repeated at the next interval', async () => {
  const { backend, pass, reasons } = await world({ everyMs: MINUTE_MS })
  let isCurrent = false
  Object.assign(backend.checkpoints ?? {}, { isCurrent: () => Promise.resolve(isCurrent) })
  await pass(0)
  await pass(MINUTE_MS)
  isCurrent = true
  await pass(MINUTE_MS)
  expect(await reasons()).toHaveLength(1)
  isCurrent = false
  backend.before.set('checkpoint', () => Promise.reject(new Error('the disk is full')))
  await pass(MINUTE_MS)
  backend.before.clear()
  await pass(MINUTE_MS - 1)
  expect(await reasons()).toHaveLength(1)
  await pass(1)
  expect(await reasons()).toHaveLength(2)
})

test('a workspace whose files are never copied delays no other', async () => {
  const { backend, table, pass, checkpointer } = await world({ everyMs: MINUTE_MS })
  const request = backendCreate('other', 'any:1', { createdAt: new Date(0) })
  table.set(await backend.create(request, () => undefined, new AbortController().signal))
  await pass(0)
  let calls = 0
  backend.before.set('checkpoint', (signal) => {
    calls += 1
    return calls > 1
      ? undefined
      : new Promise((_resolve, reject) => signal?.addEventListener('abort', reject))
  })
  const passing = pass(MINUTE_MS)
  await expect.poll(async () => (await checkpointer.list('other')).length).toBe(1)
  expect(await checkpointer.list('demo')).toEqual([])
  checkpointer.close()
  await passing
})
