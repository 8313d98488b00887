import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { IdlePool } from '../../../src/lib/pool/idle-pool.ts'
import { type Confinement, confinementLevel } from '../../../src/lib/sandbox/confine.ts'
import { tempDir } from '../../support/temp-dir.ts'

const limits = { dataBytes: 2 ** 28, fileBytes: 2 ** 20, cpuSeconds: 60, openFiles: 64 }
const WORKER = new URL('../../support/confined/attempt-worker.ts', import.meta.url)

function poolOf(confinement: Confinement): IdlePool {
  const pool = new IdlePool({ name: 'confined', maxThreads: 1, confinement }, 60_000)
  onTestFinished(() => pool.close())
  return pool
}

/** Makes the pool's process read a file, or write in a directory. */
function reads(pool: IdlePool, secret: string): Promise<unknown> {
  return pool.run(WORKER, { name: 'read a file', targets: { secret } })
}
function writes(pool: IdlePool, outside: string): Promise<unknown> {
  return pool.run(WORKER, { name: 'write a file', targets: { outside } })
}

test('this machine confines files', () => {
  expect(confinementLevel()).toBe('files')
})

test('a pool confined to more paths reads more, and replaces its process after its tasks', async () => {
  const [one, two] = [tempDir(), tempDir()]
  for (const each of [one, two]) writeFileSync(join(each, 'file'), each)
  const pool = poolOf({ readable: [one], writable: [], limits })
  expect(await reads(pool, join(one, 'file'))).toBe(one)
  await expect(reads(pool, join(two, 'file'))).rejects.toMatchObject({ code: 'EACCES' })
  const running = reads(pool, join(one, 'file'))
  pool.confine({ readable: [one, two], writable: [], limits })
  expect(await reads(pool, join(two, 'file'))).toBe(two)
  expect(await running).toBe(one)
})

test('a pool writes in a replaced directory after it is confined again', async () => {
  const directory = join(tempDir(), 'directory')
  mkdirSync(directory)
  const confinement = { readable: [], writable: [directory], limits }
  const pool = poolOf(confinement)
  await writes(pool, directory)
  renameSync(directory, `${directory}.aside`)
  mkdirSync(directory)
  await expect(writes(pool, directory)).rejects.toMatchObject({ code: 'EACCES' })
  pool.confine(confinement)
  await writes(pool, directory)
})
