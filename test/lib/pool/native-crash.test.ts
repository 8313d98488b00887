import { expect, it } from 'vitest'
import { actingPool } from '../../support/pool.ts'

it.each(['SIGSEGV', 'SIGKILL', 'SIGABRT'] as const)(
  'F14 run fails with POOL_CRASHED when the process ends by %s, and the next run works',
  async (signal) => {
    const pool = actingPool()
    const pid = await pool.act({ do: 'pid' })
    const inFlight = [pool.act({ do: 'hang' }), pool.act({ do: 'kill', signal }), pool.act({ do: 'hang' })]
    for (const end of await Promise.allSettled(inFlight)) {
      expect(end).toMatchObject({
        status: 'rejected',
        reason: {
          code: 'POOL_CRASHED',
          kind: 'internal',
          message: expect.stringContaining(`by ${signal}`) as unknown,
        },
      })
    }
    const next = await pool.act({ do: 'pid' })
    expect(next).toEqual(expect.any(Number))
    expect(next).not.toBe(pid)
  },
)

it('F14 a crash affects only its own pool', async () => {
  const crashing = actingPool()
  const other = actingPool()
  const pid = await other.act({ do: 'pid' })
  await expect(crashing.act({ do: 'kill', signal: 'SIGSEGV' })).rejects.toMatchObject({
    code: 'POOL_CRASHED',
  })
  expect(await other.act({ do: 'pid' })).toBe(pid)
})

it('F14 pool logs a crash', async () => {
  const lines: unknown[] = []
  const pool = actingPool({ logger: { warn: (details, message) => lines.push({ ...details, message }) } })
  await expect(pool.act({ do: 'kill', signal: 'SIGSEGV' })).rejects.toMatchObject({ code: 'POOL_CRASHED' })
  expect(lines).toEqual([
    { pool: 'test', pid: expect.any(Number) as unknown, how: 'by SIGSEGV', message: 'pool process exited' },
  ])
})

it(
  'F14 run waits before it starts a process again when crashes follow each other',
  { tags: ['long'] },
  async () => {
    const pool = actingPool({ maxThreads: 1 })
    for (let i = 0; i < 3; i++) {
      await expect(pool.act({ do: 'kill', signal: 'SIGSEGV' })).rejects.toMatchObject({
        code: 'POOL_CRASHED',
      })
    }
    const startMs = performance.now()
    await expect(pool.act({ do: 'pid' }, { timeoutMs: 50 })).rejects.toMatchObject({ code: 'POOL_TIMEOUT' })
    expect(await pool.act({ do: 'pid' })).toEqual(expect.any(Number))
    expect(performance.now() - startMs).toBeGreaterThan(190)
  },
)
