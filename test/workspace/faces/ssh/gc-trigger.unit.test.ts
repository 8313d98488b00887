import { expect, test } from 'vitest'
import { createGcTrigger } from '../../../../src/workspace/faces/ssh/gc-trigger.ts'

test('garbage is collected after every 200 connections', () => {
  let collections = 0
  const noteClosed = createGcTrigger(() => void collections++)
  for (let i = 0; i < 1_000; i++) noteClosed()
  expect(collections).toBe(5)
})
