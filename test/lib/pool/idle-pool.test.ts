import { expect, it, onTestFinished, vi } from 'vitest'
import { IdlePool } from '../../../src/lib/pool/idle-pool.ts'
import { isAlive } from '../../../src/lib/process/is-alive.ts'

const worker = new URL('../../fixtures/pool/act.ts', import.meta.url)

function idlePool(idleMs: number) {
  const pool = new IdlePool({ name: 'test', maxThreads: 1 }, idleMs)
  onTestFinished(() => pool.close())
  return { pool, pid: async () => (await pool.run(worker, { do: 'pid' })) as number }
}

it('the process stays between tasks, ends when nobody asks, and another is started then', async () => {
  const { pid } = idlePool(1_000)
  const first = await pid()
  expect(await pid()).toBe(first)
  await vi.waitFor(() => expect(isAlive(first)).toBe(false), 10_000)
  expect(await pid()).not.toBe(first)
})

it('a closed one takes no task', async () => {
  const { pool, pid } = idlePool(1_000)
  const first = await pid()
  await pool.close()
  expect(isAlive(first)).toBe(false)
  await expect(pid()).rejects.toMatchObject({ code: 'POOL_CLOSED' })
})
