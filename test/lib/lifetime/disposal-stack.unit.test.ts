import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { DisposalStack, openTogether } from '../../../src/lib/lifetime/disposal-stack.ts'

const recorder = () => {
  const closed: string[] = []
  const resource = (name: string, failure?: Error) => ({
    name,
    close: async () => {
      await setImmediate()
      closed.push(name)
      if (failure !== undefined) throw failure
    },
  })
  return { closed, resource }
}

test('resources are closed once, in reverse order and sequentially', async () => {
  const { closed, resource } = recorder()
  const opened = new DisposalStack()
  expect(opened.use(resource('first')).name).toBe('first')
  opened.defer(() => closed.push('second'))
  opened.use(resource('third'))
  await Promise.all([opened.close(), opened.close()])
  expect(closed).toEqual(['third', 'second', 'first'])
})

test('a failed close does not prevent the others, and the first failure is reported', async () => {
  const { closed, resource } = recorder()
  const opened = new DisposalStack()
  opened.use(resource('first', new Error('later')))
  opened.use(resource('second', new Error('sooner')))
  await expect(opened.close()).rejects.toThrow('sooner')
  await expect(opened.close()).rejects.toThrow('sooner')
  expect(closed).toEqual(['second', 'first'])
})

test('resources opened before a failure are closed, and that failure is reported', async () => {
  const { closed, resource } = recorder()
  const opening = openTogether((opened) => {
    opened.use(resource('first', new Error('while closing')))
    return Promise.reject(new Error('while opening'))
  })
  await expect(opening).rejects.toThrow('while opening')
  expect(closed).toEqual(['first'])
})

test('resources stay open without a failure', async () => {
  const { closed, resource } = recorder()
  const opened = await openTogether((stack) => {
    stack.use(resource('first'))
    return Promise.resolve(stack)
  })
  expect(closed).toEqual([])
  await opened.close()
  expect(closed).toEqual(['first'])
})
