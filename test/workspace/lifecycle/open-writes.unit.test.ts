import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import type { ExecProcess, ExitStatus } from '../../../src/workspace/backend/backend.ts'
import { OpenWrites } from '../../../src/workspace/lifecycle/open-writes.ts'

/** A program that ends when the test ends it, and whether it was hung up. */
function fakeProgram() {
  const { promise: exitStatus, resolve } = Promise.withResolvers<ExitStatus>()
  const hangUp = vi.fn<() => Promise<void>>().mockResolvedValue()
  const program = { stdin: new PassThrough(), exitStatus, hangUp } as Partial<ExecProcess> as ExecProcess
  return { program, hangUp, end: () => resolve({ status: 0 }) }
}

test('a stop waits for programs that are starting or still end', async () => {
  const writes = new OpenWrites()
  const [running, starting, other] = [fakeProgram(), fakeProgram(), fakeProgram()]
  const { promise, resolve } = Promise.withResolvers<ExecProcess>()
  await writes.start('one', () => Promise.resolve(running.program))
  void writes.start('One', () => promise)
  await writes.start('two', () => Promise.resolve(other.program))
  const order: string[] = []
  const stopped = writes.whileClosed('one', () => Promise.resolve(order.push('stopped')))
  await expect.poll(() => running.hangUp).toHaveBeenCalledOnce()
  resolve(starting.program)
  await expect.poll(() => starting.hangUp).toHaveBeenCalledOnce()
  order.push('ended')
  running.end()
  starting.end()
  await stopped
  expect(order).toEqual(['ended', 'stopped'])
  expect(other.hangUp).not.toHaveBeenCalled()
})

test('no write starts while the workspace stops, and any does afterwards, even if the stop failed', async () => {
  const writes = new OpenWrites()
  const failed = writes.whileClosed('one', () => {
    expect(() => writes.start('one', () => Promise.reject(new Error('never')))).toThrow(
      'workspace "one" is being stopped',
    )
    return Promise.reject(new Error('no engine'))
  })
  await expect(failed).rejects.toThrow('no engine')
  const { program, end } = fakeProgram()
  expect(await writes.start('one', () => Promise.resolve(program))).toBe(program)
  end()
})

test('a write that could not start, or that has ended, holds nothing up', async () => {
  const writes = new OpenWrites()
  const { program, hangUp, end } = fakeProgram()
  await writes.start('one', () => Promise.resolve(program))
  await expect(writes.start('one', () => Promise.reject(new Error('not running')))).rejects.toThrow(
    'not running',
  )
  end()
  await setImmediate()
  expect(await writes.whileClosed('one', () => Promise.resolve('stopped'))).toBe('stopped')
  expect(hangUp).not.toHaveBeenCalled()
})

test('a program that ignores its end delays the stop for a limited time', async () => {
  const writes = new OpenWrites(50)
  const { program, hangUp } = fakeProgram()
  await writes.start('one', () => Promise.resolve(program))
  expect(await writes.whileClosed('one', () => Promise.resolve('stopped'))).toBe('stopped')
  expect(hangUp).toHaveBeenCalledOnce()
})
