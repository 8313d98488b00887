import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { isFault } from '../../../src/lib/errors/fault.ts'
import { Pool } from '../../../src/lib/pool/pool.ts'
import { workerFile } from '../../../src/lib/pool/worker-file.ts'
import { duPhysicalBytes } from '../../support/files/du.ts'
import { actingPool } from '../../support/pool.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'

const fixture = (name: string) => new URL(`../../fixtures/pool/${name}.ts`, import.meta.url)
const poolModule = new URL('../../../src/lib/pool/pool.ts', import.meta.url).href

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

it('run returns the result of a worker in another process', async () => {
  const pool = actingPool()
  expect(await pool.act({ do: 'pid' })).not.toBe(process.pid)
})

it('run preserves maps, dates, big numbers and bytes', async () => {
  const value = { map: new Map([[1, new Date(5)]]), big: 2n ** 70n, bytes: new Uint8Array([1, 255]) }
  expect(await actingPool().act({ do: 'echo', value })).toEqual(value)
})

it('run accepts a worker’s path', async () => {
  const path = fileURLToPath(fixture('act'))
  expect(await actingPool().run(path, { do: 'echo', value: 1 })).toBe(1)
})

it('run finds the workers of the package', async () => {
  const path = import.meta.dirname
  const task = { paths: [path], extentsFromBytes: 0, extentsFile: join(tempDir(), 'extents') }
  expect(await actingPool().run(workerFile('disk-walk'), task)).toMatchObject({
    report: { trees: [{ physicalBytes: duPhysicalBytes(path) }] },
  })
})

it('run completes all tasks when there are more of them than threads', async () => {
  const pool = actingPool()
  const values = Array.from({ length: 200 }, (_, value) => value)
  expect(await Promise.all(values.map((value) => pool.act({ do: 'echo', value })))).toEqual(values)
})

it('run fails with POOL_TASK_FAILED when the result cannot be sent', async () => {
  const pool = actingPool()
  await expect(pool.act({ do: 'answer what cannot be sent' })).rejects.toMatchObject({
    code: 'POOL_TASK_FAILED',
  })
  expect(await pool.act({ do: 'echo', value: 1 })).toBe(1)
})

it('run rejects when the task cannot be sent', async () => {
  const pool = actingPool()
  await expect(pool.act({ do: 'echo', value: () => 1 })).rejects.toThrow(/could not be cloned/)
  expect(await pool.act({ do: 'echo', value: 1 })).toBe(1)
})

it('run rejects when the worker file is missing or exports no function', async () => {
  const pool = actingPool()
  await expect(pool.run(fixture('absent'), {})).rejects.toMatchObject({ code: 'ERR_MODULE_NOT_FOUND' })
  await expect(pool.run(fixture('no-export'), {})).rejects.toThrow(/no function as default export/)
})

it('run fails with POOL_CLOSED when the pool is closed', async () => {
  const pool = actingPool()
  await pool.close()
  await expect(pool.act({ do: 'pid' })).rejects.toMatchObject({ code: 'POOL_CLOSED', kind: 'unavailable' })
})

it('close ends the process when a task hangs', async () => {
  const pool = actingPool()
  const pid = (await pool.act({ do: 'pid' })) as number
  const hanging = pool.act({ do: 'hang' }).catch((error: unknown) => error)
  await pool.close()
  expect(await hanging).toMatchObject({ code: 'POOL_CLOSED' })
  expect(isAlive(pid)).toBe(false)
})

it('close may be called twice, and before the first task', async () => {
  const pool = new Pool({ name: 'unused' })
  await expect(pool.close()).resolves.toBeUndefined()
  await expect(pool.close()).resolves.toBeUndefined()
})

it('an idle pool does not keep its process alive', () => {
  const program = `
    import { Pool } from ${JSON.stringify(poolModule)}
    const pool = new Pool({ name: 'test', maxThreads: 1 })
    await pool.run(${JSON.stringify(fileURLToPath(fixture('act')))}, { do: 'print' })
    console.log('end')`
  // The worker's own output goes to stderr: stdout belongs to the program.
  const out = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: 120_000,
  })
  expect(out).toBe('end\n')
})

it('close keeps the process alive until the child has exited', () => {
  const program = `
    import { Pool } from ${JSON.stringify(poolModule)}
    const pool = new Pool({ name: 'test', maxThreads: 1 })
    await pool.run(${JSON.stringify(fileURLToPath(fixture('act')))}, { do: 'pid' })
    await pool.close()
    console.log('closed')`
  const out = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
    timeout: 120_000,
  })
  expect(out).toBe('closed\n')
})

it('a pool’s process exits when the front process is killed', { tags: ['long'] }, async () => {
  const program = `
    import { Pool } from ${JSON.stringify(poolModule)}
    const pool = new Pool({ name: 'test', maxThreads: 2 })
    const worker = ${JSON.stringify(fileURLToPath(fixture('act')))}
    console.log(await pool.run(worker, { do: 'pid' }))
    await pool.run(worker, { do: 'hang' })`
  const front = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [line] = (await once(front.stdout, 'data')) as [Buffer]
  const pid = Number(line.toString())
  expect(isAlive(pid)).toBe(true)
  front.kill('SIGKILL')
  await waitFor('its end', () => !isAlive(pid))
})

it('errors of a pool are Faults', async () => {
  const pool = actingPool()
  await pool.close()
  expect(isFault(await pool.act({ do: 'pid' }).catch((error: unknown) => error))).toBe(true)
})
