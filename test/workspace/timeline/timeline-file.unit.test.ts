import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { createLogger } from '../../../src/lib/log/logger.ts'
import { Random } from '../../../src/lib/random/random.ts'
import { Timeline } from '../../../src/workspace/timeline/timeline.ts'
import type { TimelineEntry } from '../../../src/workspace/timeline/timeline-entry.ts'
import { TimelineFile } from '../../../src/workspace/timeline/timeline-file.ts'
import type { Workspace } from '../../../src/workspace/workspace.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { SEED } from '../../support/seed.ts'
import { tempDir } from '../../support/temp-dir.ts'

const CREATED = new Date(1_000)
const demo = { name: 'demo', createdAt: CREATED }
const newPath = (): string => join(tempDir(), 'timelines.jsonl')

/** Opens a file, which is closed before its directory is removed, and collects what is logged. */
async function openFile(path: string) {
  const lines: string[] = []
  const destination = new PassThrough().setEncoding('utf8').on('data', (line: string) => lines.push(line))
  const file = await TimelineFile.open(path, createLogger({ level: 'info', format: 'json', destination }))
  onTestFinished(() => file.close())
  return { file, logged: () => lines.join('') }
}
const note = (text: string): TimelineEntry => ({ is: 'note', at: new Date(5), text })
const notesOf = (file: TimelineFile) =>
  file.entriesOf(demo).map((entry) => (entry.is === 'note' ? entry.text : entry.is))

/** A server's timeline, as far as it depends on the file. */
async function serve(path: string) {
  const { file, logged } = await openFile(path)
  const timeline = new Timeline(new FakeClock(), file)
  const observe = (state: Workspace['state'], createdAt = CREATED): void =>
    timeline.observe({ type: 'changed', workspace: { name: 'demo', createdAt, state } as Workspace })
  const explain = (state: Workspace['state']) => timeline.explain({ name: 'demo', state } as Workspace)
  return { file, timeline, observe, explain, logged }
}

test('a restarted server explains a state as before', async () => {
  const path = newPath()
  const first = await serve(path)
  first.timeline.because('demo', 'a client requested its creation')
  first.observe({ is: 'starting' })
  first.timeline.enter('demo', 'boot')
  first.timeline.leave('demo', 'done')
  first.observe({ is: 'running' })
  first.timeline.because('demo', 'it was idle for 60 min')
  first.observe({ is: 'stopped' })
  await first.file.close()

  const next = await serve(path)
  next.observe({ is: 'stopped' })
  expect(next.timeline.of('demo')).toEqual(first.timeline.of('demo'))
  expect(next.explain({ is: 'stopped' })).toMatchObject({
    reason: 'it was idle for 60 min',
    before: { is: 'state', status: 'running', reason: 'it is ready' },
  })
})

test.each<readonly [string, Workspace['state'], Workspace['state'], string]>([
  ['stopped', { is: 'running' }, { is: 'stopped' }, 'it changed while the server did not run'],
  ['started', { is: 'stopped' }, { is: 'running' }, 'it changed while the server did not run'],
  ['an error', { is: 'running' }, { is: 'error', message: 'no disk' }, 'no disk'],
  ['another error', { is: 'error', message: 'no disk' }, { is: 'error', message: 'no image' }, 'no image'],
])('a state that is %s while no server runs is a change', async (_what, before, after, reason) => {
  const path = newPath()
  const first = await serve(path)
  first.observe(before)
  await first.file.close()
  const next = await serve(path)
  next.observe(after)
  expect(next.timeline.of('demo')).toMatchObject([{ status: before.is }, { status: after.is, reason }])
})

test('a phase in which the server was killed is left out', async () => {
  const path = newPath()
  const first = await serve(path)
  first.observe({ is: 'starting' })
  first.timeline.enter('demo', 'boot')
  await first.file.close()
  const next = await serve(path)
  next.observe({ is: 'stopped' })
  expect(next.timeline.of('demo').map((entry) => entry.is)).toEqual(['state', 'state'])
})

test.each([
  ['a deleted one', (timeline: Timeline) => timeline.observe({ type: 'deleted', name: 'Demo' }), CREATED],
  ['one that was replaced while no server ran', () => undefined, new Date(2_000)],
])('a workspace has nothing of %s with its name', async (_what, end, createdAt) => {
  const path = newPath()
  const first = await serve(path)
  first.observe({ is: 'stopped' })
  end(first.timeline)
  await first.file.close()
  const next = await serve(path)
  next.timeline.because('demo', 'a client requested its creation')
  next.observe({ is: 'starting' }, createdAt)
  const entries = [{ status: 'starting', reason: 'a client requested its creation' }]
  expect(next.timeline.of('demo')).toMatchObject(entries)
  await next.file.close()
  const last = await serve(path)
  last.observe({ is: 'starting' }, createdAt)
  expect(last.timeline.of('demo')).toMatchObject(entries)
})

test(
  'a file that ends at any byte keeps its complete lines, and later entries',
  { tags: ['long'] },
  async () => {
    const path = newPath()
    const { file } = await openFile(path)
    for (const text of ['one', 'two „quoted“\n', 'three']) file.add(demo, note(text))
    await file.close()
    const content = readFileSync(path)
    for (let end = 0; end <= content.length; end++) {
      writeFileSync(path, content.subarray(0, end))
      const complete = content.subarray(0, end).toString('latin1').split('\n').length - 1
      const { file: cut } = await openFile(path)
      expect(notesOf(cut), `${end} bytes`).toHaveLength(complete)
      cut.add(demo, note('later'))
      await cut.close()
      const { file: next, logged } = await openFile(path)
      expect(notesOf(next), `${end} bytes`).toHaveLength(complete + 1)
      expect(notesOf(next).at(-1)).toBe('later')
      expect(logged()).toBe('')
    }
  },
)

test.each([
  ['no JSON', 'not JSON'],
  ['another value', '[]'],
  ['an unknown kind', '{"name":"demo","createdMs":1000,"atMs":5,"is":"other"}'],
  ['an impossible time', '{"name":"demo","createdMs":1000,"atMs":9e15,"is":"note","text":"x"}'],
  ['no text', '{"name":"demo","createdMs":1000,"atMs":5,"is":"note"}'],
])('a line with %s is left out and reported', async (_what, line) => {
  const path = newPath()
  const { file } = await openFile(path)
  file.add(demo, note('one'))
  await file.close()
  writeFileSync(path, `${line}\n${readFileSync(path, 'utf8')}`)
  const { file: next, logged } = await openFile(path)
  expect(notesOf(next)).toEqual(['one'])
  expect(logged()).toContain('entries of timelines are damaged')
  next.add(demo, note('two'))
  await next.close()
  const { file: last, logged: loggedLast } = await openFile(path)
  expect([notesOf(last), loggedLast()]).toEqual([['one', 'two'], ''])
})

test(
  'B5 the file keeps the latest 20 entries of a workspace and does not grow without end',
  { tags: ['long'] },
  async () => {
    const path = newPath()
    const { file } = await openFile(path)
    const random = new Random(SEED)
    for (let n = 0; n < 3_000; n += 5) {
      for (let at = n; at < n + 5; at++) file.add(demo, note(String(at)))
      // Others are added while these are written.
      for (let turns = random.below(20); turns > 0; turns--) await setImmediate()
      if (random.chance(0.6)) continue
      await file.close()
      expect(notesOf((await openFile(path)).file)).toEqual(notesOf(file))
    }
    await file.close()
    expect(readFileSync(path, 'utf8').split('\n').length).toBeLessThan(1_200)
    const { file: next } = await openFile(path)
    expect(notesOf(next)).toEqual(Array.from({ length: 20 }, (_, at) => String(2_980 + at)))
  },
)

test('a disk that cannot be written is reported once, and everything is written when it can', async () => {
  const path = join(tempDir(), 'missing', 'timelines.jsonl')
  const { file, logged } = await openFile(path)
  for (const text of ['one', 'two']) {
    file.add(demo, note(text))
    await file.close()
  }
  expect(logged().match(/timelines cannot be written/g)).toHaveLength(1)
  mkdirSync(dirname(path))
  file.add(demo, note('three'))
  await file.close()
  expect(notesOf((await openFile(path)).file)).toEqual(['one', 'two', 'three'])
})
