import { expect, it } from 'vitest'
import { RestartDelay } from '../../../src/lib/pool/restart-delay.ts'

it('RestartDelay is zero after one crash', () => {
  const restart = new RestartDelay()
  expect(restart.leftMs(0)).toBe(0)
  restart.crashed(1000)
  expect(restart.leftMs(1000)).toBe(0)
})

it('RestartDelay doubles with each crash up to 10 s', () => {
  const restart = new RestartDelay()
  const delaysMs = Array.from({ length: 10 }, (_, i) => {
    restart.crashed(i)
    return restart.leftMs(i)
  })
  expect(delaysMs).toEqual([0, 100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000])
})

it('RestartDelay decreases with time', () => {
  const restart = new RestartDelay()
  restart.crashed(0)
  restart.crashed(0)
  expect(restart.leftMs(40)).toBe(60)
  expect(restart.leftMs(500)).toBe(0)
})

it('RestartDelay is reset by a success', () => {
  const restart = new RestartDelay()
  for (let i = 0; i < 5; i++) restart.crashed(0)
  restart.succeeded()
  restart.crashed(0)
  expect(restart.leftMs(0)).toBe(0)
})
