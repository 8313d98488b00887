import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Fault } from '../../../src/lib/errors/fault.ts'
import { actingPool, type ActingPool } from '../../support/pool.ts'
import { tempDir } from '../../support/temp-dir.ts'

/** Expects that the pool's process survived: one task failed, and the next one runs in the same process. */
async function expectSameProcess(pool: ActingPool, pid: unknown): Promise<void> {
  expect(await pool.act({ do: 'pid' })).toBe(pid)
}

it('F13 run rejects with the error as thrown when a worker throws', async () => {
  const pool = actingPool()
  const pid = await pool.act({ do: 'pid' })
  const error: unknown = await pool.act({ do: 'throw' }).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(Error)
  expect(error).toMatchObject({
    name: 'RangeError',
    message: 'no such thing',
    code: 'ENOENT',
    errno: -2,
    syscall: 'open',
    path: '/x',
    stack: expect.stringContaining('act.ts') as unknown,
    cause: expect.objectContaining({ message: 'the cause' }) as unknown,
  })
  await expectSameProcess(pool, pid)
})

it('F13 run rejects with a Fault when a worker throws one', async () => {
  const error: unknown = await actingPool()
    .act({ do: 'throw fault' })
    .catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(Fault)
  expect(error).toMatchObject({ code: 'THING_MISSING', kind: 'missing', message: 'thing is missing' })
})

it('F13 run rejects with an Error when a worker throws something else', async () => {
  await expect(actingPool().act({ do: 'throw text' })).rejects.toThrow('just text')
})

it('F13 run fails with POOL_TASK_FAILED when a worker exits', async () => {
  const pool = actingPool()
  const pid = await pool.act({ do: 'pid' })
  await expect(pool.act({ do: 'exit' })).rejects.toMatchObject({
    code: 'POOL_TASK_FAILED',
    kind: 'internal',
    message: expect.stringContaining('exited with code: 3') as unknown,
  })
  await expectSameProcess(pool, pid)
})

it('F13 run fails with POOL_TASK_FAILED when a worker fills its heap', async () => {
  const pool = actingPool({ maxHeapMb: 32 })
  const pid = await pool.act({ do: 'pid' })
  await expect(pool.act({ do: 'fill the heap' })).rejects.toMatchObject({
    code: 'POOL_TASK_FAILED',
    cause: expect.objectContaining({ code: 'ERR_WORKER_OUT_OF_MEMORY' }) as unknown,
  })
  await expectSameProcess(pool, pid)
})

it('F13 run rejects with the reason of its signal when a worker hangs', async () => {
  const pool = actingPool({ maxThreads: 1 })
  const pid = await pool.act({ do: 'pid' })
  const cancel = new AbortController()
  const hanging = pool.act({ do: 'hang' }, { signal: cancel.signal })
  const next = pool.act({ do: 'pid' })
  const reason = new Error('changed my mind')
  setImmediate(() => cancel.abort(reason))
  await expect(hanging).rejects.toBe(reason)
  // With one thread, the next task waited behind the hanging one, whose thread had to be replaced.
  expect(await next).toBe(pid)
})

it('F13 run rejects immediately when its signal is already aborted', async () => {
  await expect(actingPool().act({ do: 'hang' }, { signal: AbortSignal.abort() })).rejects.toMatchObject({
    name: 'AbortError',
  })
})

it('F13 run fails with POOL_TIMEOUT when a worker hangs', async () => {
  const pool = actingPool({ maxThreads: 1 })
  const pid = await pool.act({ do: 'pid' })
  await expect(pool.act({ do: 'hang' }, { timeoutMs: 100 })).rejects.toMatchObject({
    code: 'POOL_TIMEOUT',
    kind: 'timeout',
    message: expect.stringMatching(/act\.ts timed out after 100 ms/) as unknown,
  })
  await expectSameProcess(pool, pid)
})

it('F13 a pool replaces workers that are lost one after the other', { tags: ['long'] }, async () => {
  const pool = actingPool({ maxThreads: 2 })
  const pid = await pool.act({ do: 'pid' })
  const lost = Array.from({ length: 12 }, (_, i) =>
    i % 2 === 0 ? pool.act({ do: 'exit' }) : pool.act({ do: 'hang' }, { timeoutMs: 50 * i }),
  )
  for (const end of await Promise.allSettled(lost)) expect(end.status).toBe('rejected')
  expect(await Promise.all([1, 2, 3, 4].map(() => pool.act({ do: 'pid' })))).toEqual([pid, pid, pid, pid])
})

it('F13 a pool replaces lost workers after a task that waited for a starting one is cancelled', async () => {
  const started = join(tempDir(), 'started')
  const preload = [new URL(`../../fixtures/pool/slow-start.ts?until=${started}`, import.meta.url)]
  const pool = actingPool({ preload })
  const pid = await pool.act({ do: 'pid' })
  await Promise.allSettled([pool.act({ do: 'exit' }), pool.act({ do: 'exit' })])
  const cancel = new AbortController()
  const first = pool.act({ do: 'pid' })
  const second = pool.act({ do: 'hang' }, { signal: cancel.signal })
  await first
  cancel.abort()
  await expect(second).rejects.toMatchObject({ name: 'AbortError' })
  writeFileSync(started, '')
  const folder = tempDir()
  await Promise.all([pool.act({ do: 'meet', folder }), pool.act({ do: 'meet', folder })])
  const tasks = [pool.act({ do: 'exit' }), pool.act({ do: 'exit' }), pool.act({ do: 'pid' })]
  expect((await Promise.allSettled(tasks)).at(-1)).toMatchObject({ value: pid })
})

it('F13 a pool whose workers no longer start fails its tasks and starts a new process', async () => {
  const preload = [new URL('../../fixtures/pool/no-restart.ts', import.meta.url)]
  const pool = actingPool({ preload })
  const pid = await pool.act({ do: 'pid' })
  const tasks = [pool.act({ do: 'exit' }), pool.act({ do: 'exit' }), pool.act({ do: 'pid' })]
  expect((await Promise.allSettled(tasks)).at(-1)).toMatchObject({ reason: { code: 'POOL_CRASHED' } })
  expect(await pool.act({ do: 'pid' })).not.toBe(pid)
})
