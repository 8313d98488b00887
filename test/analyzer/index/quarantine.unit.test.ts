import { expect, test } from 'vitest'
import { Quarantine } from '../../../src/analyzer/index/quarantine.ts'
import { createLogger } from '../../../src/lib/log/logger.ts'
import { fault } from '../../../src/lib/pool/errors.ts'

const taskOf = (path: string) => ({ entry: { path } })
const crash = () => fault('POOL_CRASHED', 'its process ended by SIGSEGV')

function quarantine(): Quarantine {
  return new Quarantine(createLogger({ level: 'silent', format: 'json' }))
}

test('F14 tasks aborted by a crash are rerun alone, and only those that crash again are quarantined', async () => {
  const quarantined = quarantine()
  const alone: string[] = []
  let running = 0
  const run = async ({ entry: { path } }: ReturnType<typeof taskOf>, isAlone: boolean) => {
    expect(++running).toBeLessThanOrEqual(isAlone ? 1 : 3)
    if (isAlone) alone.push(path)
    await Promise.resolve()
    running--
    if (!isAlone || path === 'bad.jar') throw crash()
    return path
  }
  const tasks = ['good.jar', 'bad.jar', 'classes'].map(taskOf)
  expect(await quarantined.runAll(tasks, run)).toEqual(['good.jar', undefined, 'classes'])
  expect(alone).toEqual(['good.jar', 'bad.jar', 'classes'])
  expect(quarantined.paths).toEqual(['bad.jar'])
  expect(await quarantined.runAll(tasks, ({ entry }) => Promise.resolve(entry.path))).toEqual([
    'good.jar',
    undefined,
    'classes',
  ])
})

test('A1 a task that exhausts the heap of its thread when run alone is quarantined', async () => {
  const quarantined = quarantine()
  const run = ({ entry: { path } }: ReturnType<typeof taskOf>) =>
    path === 'bad.jar' ? Promise.reject(fault('POOL_TASK_FAILED', 'its thread ended')) : Promise.resolve(path)
  expect(await quarantined.runAll(['good.jar', 'bad.jar'].map(taskOf), run)).toEqual(['good.jar', undefined])
  expect(quarantined.paths).toEqual(['bad.jar'])
})

test('other errors are thrown once all tasks finish', async () => {
  const ended: string[] = []
  const run = async ({ entry: { path } }: ReturnType<typeof taskOf>) => {
    if (path === 'full') throw new Error('no space is left')
    await new Promise((resolve) => setImmediate(resolve))
    ended.push(path)
    if (path === 'bad') throw crash()
  }
  await expect(quarantine().runAll(['full', 'good', 'bad'].map(taskOf), run)).rejects.toThrow(
    'no space is left',
  )
  expect(ended).toEqual(['good', 'bad'])
})
