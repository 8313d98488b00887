import { expect, test } from 'vitest'
import { Timeline } from '../../../src/workspace/timeline/timeline.ts'
import type { Workspace } from '../../../src/workspace/workspace.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const workspace = (state: Workspace['state'], name = 'demo'): Workspace => ({
  name,
  state,
  backend: 'docker',
  createdAt: new Date(0),
  repo: '',
  localDir: '',
  image: '',
  containerId: '',
  ipAddress: '',
  pid: 0,
  rootfsPath: '',
  cpus: 0,
  memoryMb: 0,
  forwardPorts: [],
})
const timelineOf = () => {
  const clock = new FakeClock()
  return { clock, timeline: new Timeline(clock) }
}

test('a timeline has the phases of a start with their durations, then states with reasons', async () => {
  const { clock, timeline } = timelineOf()
  const ended: unknown[] = []
  timeline.onPhaseEnd((...phase) => ended.push(phase))
  timeline.because('demo', 'a client requested its creation')
  timeline.observe({ type: 'changed', workspace: workspace({ is: 'starting' }) })
  timeline.enter('demo', 'image')
  await clock.pass(1_500)
  timeline.enter('DEMO', 'boot')
  await clock.pass(200)
  expect(timeline.of('demo').at(-1)).toMatchObject({
    phase: 'boot',
    outcome: 'running',
    durationMs: undefined,
  })
  timeline.leave('demo', 'failed')
  timeline.leave('demo', 'done')
  timeline.observe({ type: 'changed', workspace: workspace({ is: 'running' }) })
  expect(timeline.of('demo')).toEqual([
    { is: 'state', at: new Date(0), status: 'starting', reason: 'a client requested its creation' },
    { is: 'phase', at: new Date(0), phase: 'image', outcome: 'done', durationMs: 1_500 },
    { is: 'phase', at: new Date(1_500), phase: 'boot', outcome: 'failed', durationMs: 200 },
    { is: 'state', at: new Date(1_700), status: 'running', reason: 'it is ready' },
  ])
  expect(ended).toEqual([
    ['image', 1_500, 'done'],
    ['boot', 200, 'failed'],
  ])
})

test('every state but running is explained with what happened before and a remedy', () => {
  const { timeline } = timelineOf()
  const explain = (state: Workspace['state']) => {
    timeline.observe({ type: 'changed', workspace: workspace(state) })
    return timeline.explain(workspace(state))
  }
  expect(explain({ is: 'stopped' })).toMatchObject({
    reason: 'it was in this state when the server started',
    before: undefined,
    remedy: 'start it with "workspace start demo"',
  })
  expect(explain({ is: 'starting' })).toMatchObject({ reason: 'it is being started' })
  expect(explain({ is: 'running' })).toBeUndefined()
  timeline.note('demo', 'a program was killed')
  expect(explain({ is: 'error', message: 'out of memory' })).toMatchObject({
    reason: 'out of memory',
    before: { is: 'note', text: 'a program was killed' },
    remedy: expect.stringContaining('workspace logs demo'),
  })
  explain({ is: 'running' })
  expect(explain({ is: 'stopped' })?.reason).toContain('without this server')
})

test('a reason belongs to its operation only', () => {
  const { timeline } = timelineOf()
  timeline.observe({ type: 'changed', workspace: workspace({ is: 'running' }) })
  timeline.because('demo', 'a client requested the stop')
  timeline.endReason('demo')
  timeline.observe({ type: 'changed', workspace: workspace({ is: 'stopped' }) })
  expect(timeline.of('demo').at(-1)).toMatchObject({
    reason: expect.stringContaining('its main process exited'),
  })
})

test('B5 a timeline keeps its latest 100 entries, and is forgotten with its workspace', () => {
  const { timeline } = timelineOf()
  for (let n = 0; n < 250; n++) timeline.note('demo', String(n))
  expect(timeline.of('demo')).toHaveLength(100)
  expect(timeline.of('demo').at(-1)).toMatchObject({ text: '249' })
  timeline.because('demo', 'x'.repeat(5_000))
  timeline.observe({ type: 'changed', workspace: workspace({ is: 'stopped' }) })
  expect(timeline.of('demo').at(-1)).toMatchObject({ reason: 'x'.repeat(1_000) })
  timeline.observe({ type: 'deleted', name: 'Demo' })
  expect(timeline.of('demo')).toEqual([])
  timeline.endReason('demo')
  timeline.leave('demo', 'done')
  expect(timeline.of('demo')).toEqual([])
})
