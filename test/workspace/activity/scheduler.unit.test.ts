import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fault } from '../../../src/workspace/errors.ts'
import {
  newHost,
  OFFICE,
  restart,
  schedulingServer,
} from '../../support/workspace/lifecycle/scheduling-server.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

test('a workspace starts and stops at the times of its schedule, with the reason', async () => {
  const world = await schedulingServer()
  await world.create('demo', { ...OFFICE, timeZone: 'Europe/Berlin' })
  await world.create('other')
  await world.until('16:59')
  expect(world.status()).toBe('running')
  await world.until('17:00')
  expect(world.status()).toBe('stopped')
  expect(world.reasons().at(-1)).toBe('its schedule stopped it (stop "0 19 * * *", Europe/Berlin)')
  await world.until('05:59')
  expect(world.status()).toBe('stopped')
  await world.until('06:00')
  expect(world.status()).toBe('running')
  expect(world.reasons().at(-2)).toBe('its schedule started it (start "0 8 * * *", Europe/Berlin)')
  expect(world.status('other')).toBe('running')
  const audit = await world.audit()
  for (const what of ['start', 'stop'])
    expect(audit).toContain(
      `"action":"workspace.${what}","workspace":"demo","address":"","reason":"schedule"`,
    )
})

test('a workspace that somebody starts outside its hours stays until its next stop', async () => {
  const world = await schedulingServer()
  await world.create('demo', OFFICE)
  await world.until('19:00')
  expect(world.status()).toBe('stopped')
  await world.lifecycle.start('demo')
  await world.until('18:59')
  expect(world.status()).toBe('running')
  await world.until('19:00')
  expect(world.status()).toBe('stopped')
})

test('a stop waits until nobody has used the workspace for five minutes', async () => {
  let isAttached = false
  const world = await schedulingServer(newHost(), { isAttached: () => Promise.resolve(isAttached) })
  await world.create('demo', OFFICE)
  await world.until('18:30')
  const end = world.activity.begin('demo')
  await world.until('19:20')
  expect(world.status()).toBe('running')
  expect(world.notes()).toEqual([
    'its schedule stops it, but it is in use (somebody is connected); it waits, until 2026-06-01T21:00Z at most',
  ])
  end()
  await world.until('19:24')
  expect(world.status()).toBe('running')
  isAttached = true
  await world.until('19:40')
  expect(world.status()).toBe('running')
  isAttached = false
  await world.until('19:46')
  expect(world.status()).toBe('stopped')
})

test('a stop waits for two hours at most, also if nobody knows who is attached', async () => {
  const world = await schedulingServer(newHost(), { isAttached: () => Promise.reject(new Error('no tmux')) })
  await world.create('demo', OFFICE)
  await world.create('busy', OFFICE)
  world.activity.begin('busy')
  await world.until('20:59')
  expect([world.status(), world.status('busy')]).toEqual(['running', 'running'])
  expect(world.notes().join()).toContain('its sessions cannot be listed: no tmux')
  await world.until('21:00')
  expect([world.status(), world.status('busy')]).toEqual(['stopped', 'stopped'])
})

test('a stop that waits is dropped by a start, a manual stop and a change of the schedule', async () => {
  const world = await schedulingServer()
  const night = { start: '0 20 * * *', stop: '0 19 * * *', timeZone: 'UTC' }
  for (const name of ['started', 'changed']) await world.create(name, night)
  await world.create('stopped', OFFICE)
  const ends = ['started', 'stopped', 'changed'].map((name) => world.activity.begin(name))
  await world.until('19:10')
  await world.lifecycle.stop('stopped')
  await world.lifecycle.start('stopped')
  await world.editor.change('changed', { schedule: { stop: '0 22 * * *' } })
  await world.until('20:00')
  for (const end of ends) end()
  await world.until('21:30')
  expect(['started', 'stopped', 'changed'].map((name) => world.status(name))).toEqual([
    'running',
    'running',
    'running',
  ])
  await world.until('22:00')
  expect(world.status('changed')).toBe('stopped')
})

test('a schedule suspends where that is possible, and stops elsewhere', async () => {
  const world = await schedulingServer()
  await world.create('demo', { ...OFFICE, rest: 'suspend' })
  world.backend.canSuspend = true
  await world.until('19:00')
  expect(world.status()).toBe('suspended')
  await world.until('08:00')
  expect(world.status()).toBe('running')
  world.backend.canSuspend = false
  await world.until('19:00')
  expect(world.status()).toBe('stopped')
})

test('a start that fails is reported and tried again only at the next scheduled time', async () => {
  const world = await schedulingServer()
  await world.create('demo', OFFICE)
  await world.until('19:00')
  let attempts = 0
  world.backend.before.set('start', () => {
    attempts++
    throw fault('BACKEND_ERROR', 'no space left')
  })
  await world.until('18:00')
  expect(attempts).toBe(1)
  expect(world.notes()).toContain('its schedule could not start it: no space left')
  expect(world.log()).toContain('could not start a workspace by its schedule')
  world.backend.before.delete('start')
  await world.until('08:00')
  expect(world.status()).toBe('running')
  expect(await world.audit()).toContain('"outcome":"failed","code":"BACKEND_ERROR"')
})

test('a stop that fails is tried again after some minutes', async () => {
  const world = await schedulingServer()
  await world.create('demo', OFFICE)
  let attempts = 0
  world.backend.before.set('stop', () => {
    attempts++
    throw fault('BACKEND_ERROR', 'hangs')
  })
  await world.until('19:09')
  expect(attempts).toBe(2)
  world.backend.before.delete('stop')
  await world.until('19:11')
  expect(world.status()).toBe('stopped')
})

test('few of many workspaces start at the same time', async () => {
  const world = await schedulingServer()
  const names = Array.from({ length: 12 }, (_, index) => `demo-${index}`)
  for (const name of names) await world.create(name, OFFICE)
  await world.until('19:00')
  expect(names.map((name) => world.status(name))).not.toContain('running')
  let running = 0
  let most = 0
  world.backend.before.set('start', async () => {
    most = Math.max(most, ++running)
    await new Promise((resolve) => setImmediate(resolve))
    running--
  })
  await world.until('08:00')
  expect(names.map((name) => world.status(name))).toEqual(names.map(() => 'running'))
  expect(most).toBeGreaterThan(1)
  expect(most).toBeLessThan(names.length)
})

test('a stop missed while the server did not run is made up for, unless the workspace is used', async () => {
  const first = await schedulingServer()
  await first.create('demo', OFFICE)
  await first.create('used', OFFICE)
  await first.until('18:50')
  const world = await restart(first, HOUR_MS)
  const end = world.activity.begin('used')
  await world.until('19:54')
  expect(world.status()).toBe('running')
  await world.until('19:56')
  expect([world.status(), world.status('used')]).toEqual(['stopped', 'running'])
  // A second restart makes up for nothing again.
  await world.lifecycle.start('demo')
  const again = await restart(world, MINUTE_MS)
  await again.until('20:30')
  expect([again.status(), again.status('used')]).toEqual(['running', 'stopped'])
  end()
})

test('a stop that was done before a crash is not done again', async () => {
  const first = await schedulingServer()
  await first.create('demo', OFFICE)
  const end = first.activity.begin('demo')
  await first.until('19:01')
  const file = join(first.stateDir, 'schedule.json')
  const waiting = readFileSync(file, 'utf8')
  expect(waiting).toContain('"demo"')
  end()
  await first.until('19:10')
  expect(first.status()).toBe('stopped')
  await first.scheduler.close()
  writeFileSync(file, waiting)
  const world = await restart(first, MINUTE_MS)
  await world.lifecycle.start('demo')
  await world.until('18:59')
  expect(world.status()).toBe('running')
})

test('a start missed by more than ten minutes is not made up for', async () => {
  const first = await schedulingServer()
  await first.create('demo', OFFICE)
  await first.until('07:55')
  const late = await restart(first, 9 * MINUTE_MS)
  await late.scheduler.ended()
  expect(late.status()).toBe('running')
  await late.until('07:55')
  expect(late.status()).toBe('stopped')
  const later = await restart(late, 20 * MINUTE_MS)
  await later.until('18:00')
  expect(later.status()).toBe('stopped')
  expect(later.notes().join()).toContain('did not start it at 2026-06-03T08:00Z')
})

test('a crash and a changed schedule have no missed times', async () => {
  const first = await schedulingServer()
  await first.create('demo', { stop: '30 11 * * *', timeZone: 'UTC' })
  await first.create('plain')
  await first.pass(MINUTE_MS)
  expect(existsSync(join(first.stateDir, 'schedule.json'))).toBe(true)
  // Without close, as after a crash; the server's schedule was changed meanwhile.
  const second = await schedulingServer(first.host, { defaults: { stop: '45 11 * * *', timeZone: 'UTC' } })
  await second.pass(HOUR_MS)
  expect([second.status(), second.status('plain')]).toEqual(['running', 'running'])
  await second.until('11:46')
  expect([second.status(), second.status('plain')]).toEqual(['stopped', 'stopped'])
})

test('a damaged state is reported and makes up for nothing', async () => {
  const first = await schedulingServer()
  await first.create('demo', OFFICE)
  await first.until('18:59')
  await first.scheduler.close()
  writeFileSync(join(first.stateDir, 'schedule.json'), '{"version":1}')
  const world = await restart(first, HOUR_MS)
  await world.until('23:00')
  expect(world.status()).toBe('running')
  expect(world.log()).toContain('the state of schedules is lost')
})

test('a change of the settings takes effect at once, and never for the past', async () => {
  const world = await schedulingServer()
  await world.create('demo')
  await world.editor.change('demo', { schedule: { stop: '30 11 * * *', timeZone: 'UTC' } })
  await world.pass(HOUR_MS)
  expect(world.status()).toBe('running')
  await world.editor.change('demo', { schedule: { stop: '10 13 * * *' } })
  await world.until('13:11')
  expect(world.status()).toBe('stopped')
  await world.editor.change('demo', { schedule: { start: '12 13 * * *' } })
  await world.until('13:13')
  expect(world.status()).toBe('running')
  await world.editor.change('demo', { schedule: null })
  await world.pass(3 * DAY_MS)
  expect(world.status()).toBe('running')
})

test('the server’s schedule applies to workspaces without their own, value by value', async () => {
  const world = await schedulingServer(newHost(), { defaults: { stop: '0 19 * * *', timeZone: 'UTC' } })
  await world.create('plain')
  await world.create('zone', { timeZone: 'Europe/Berlin' })
  await world.create('never', { stop: 'never' })
  await world.until('17:00')
  expect([world.status('plain'), world.status('zone')]).toEqual(['running', 'stopped'])
  await world.until('19:00')
  expect([world.status('plain'), world.status('never')]).toEqual(['stopped', 'running'])
})

test('a clock that is set back repeats nothing, and a wrong one is corrected', async () => {
  const world = await schedulingServer()
  await world.create('demo', OFFICE)
  await world.until('19:00')
  await world.lifecycle.start('demo')
  world.clock.set(-HOUR_MS)
  await world.until('20:00')
  expect(world.status()).toBe('running')
  // The clock was wrong by years: what it passed is in the future again.
  world.clock.set(-1_000 * DAY_MS)
  await world.pass(2 * MINUTE_MS)
  await world.until('19:00')
  expect(world.status()).toBe('stopped')
  world.clock.set(3_000 * DAY_MS + 6 * HOUR_MS)
  await world.pass(2 * MINUTE_MS)
  expect(world.status()).toBe('stopped')
  await world.until('08:00')
  expect(world.status()).toBe('running')
})

test('a server without schedules sets no timer', async () => {
  const world = await schedulingServer()
  await world.create('demo')
  await world.pass(MINUTE_MS)
  expect(world.clock.timers).toBe(0)
  await world.editor.change('demo', { schedule: OFFICE })
  expect(world.clock.timers).toBe(1)
})
