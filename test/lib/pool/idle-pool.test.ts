import { readFileSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { IdlePool } from '../../../src/lib/pool/idle-pool.ts'
import { isAlive } from '../../../src/lib/process/is-alive.ts'
import { waitFor } from '../../support/wait-for.ts'

/** Returns the children of this process. */
const childPids = (): readonly number[] =>
  readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)

const worker = new URL('../../fixtures/pool/act.ts', import.meta.url)

function idlePool(idleMs: number) {
  const pool = new IdlePool({ name: 'test', maxThreads: 1 }, idleMs)
  onTestFinished(() => pool.close())
  return { pool, pid: async () => (await pool.run(worker, { do: 'pid' })) as number }
}

it('the process stays between tasks, exits when idle, and is started again', { tags: ['long'] }, async () => {
  const { pid } = idlePool(1_000)
  const first = await pid()
  expect(await pid()).toBe(first)
  await waitFor('its end', () => !isAlive(first))
  expect(await pid()).not.toBe(first)
})

it('a closed pool accepts no task', async () => {
  const { pool, pid } = idlePool(1_000)
  const first = await pid()
  await pool.close()
  expect(isAlive(first)).toBe(false)
  await expect(pid()).rejects.toMatchObject({ code: 'POOL_CLOSED' })
})

it('threads load their modules before their first task', async () => {
  const preload = [new URL('../../fixtures/pool/set-mark.ts', import.meta.url)]
  const pool = new IdlePool({ name: 'test', maxThreads: 1, preload }, 1_000)
  onTestFinished(() => pool.close())
  expect(await pool.run(new URL('../../fixtures/pool/read-mark.ts', import.meta.url), {})).toBe('loaded')
})

it('a warmed pool exits when idle, and then starts again', async () => {
  const { pool, pid } = idlePool(300)
  const before = childPids()
  pool.warm()
  const [warmed] = childPids().filter((each) => !before.includes(each))
  expect(isAlive(warmed!)).toBe(true)
  await waitFor('its end', () => !isAlive(warmed!))
  expect(await pid()).not.toBe(warmed)
})
