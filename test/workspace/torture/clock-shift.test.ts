import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { tempDir } from '../../support/temp-dir.ts'

const DAY_MS = 24 * 3_600_000

/** Reports the clock in all ways that code reads it, after each message. */
const PROGRAM = `
process.on('message', () => setImmediate(() => process.send({
  now: Date.now(),
  date: new Date().getTime(),
  text: Date.parse(Date()),
  fixed: new Date(5).getTime(),
  isDate: new Date() instanceof Date,
  iso: new Date(Date.UTC(2026, 0, 1)).toISOString(),
})))
setInterval(() => undefined, 60_000)
process.send('ready')`

interface Times {
  readonly now: number
  readonly date: number
  readonly text: number
  readonly fixed: number
  readonly isDate: boolean
  readonly iso: string
}

async function started(argument: string): Promise<ChildProcess> {
  const file = join(tempDir(), 'program.mjs')
  writeFileSync(file, PROGRAM)
  const preload = join(packageRoot, 'src/workspace/torture/clock-shift.ts')
  const child = fork(file, [argument], { execArgv: ['--import', preload] })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'message')
  return child
}

/** Sends a shift and returns the messages that follow. */
async function shift(child: ChildProcess, shiftMs: number, count: number): Promise<readonly unknown[]> {
  const messages: unknown[] = []
  const all = new Promise<void>((resolve) => {
    const add = (message: unknown): void => {
      if (messages.push(message) < count) return
      child.off('message', add)
      resolve()
    }
    child.on('message', add)
  })
  child.send({ shiftMs })
  await all
  return messages
}

test.each([DAY_MS, -DAY_MS, 0])(
  'the clock of a server jumps by %i ms however its code reads it',
  async (shiftMs) => {
    const [answer, times] = await shift(await started('serve'), shiftMs, 2)
    expect(answer).toEqual({ shiftMs })
    const { now, date, text, fixed, isDate, iso } = times as Times
    for (const ms of [now, date, text]) expect(Math.abs(ms - Date.now() - shiftMs)).toBeLessThan(60_000)
    expect({ fixed, isDate, iso }).toEqual({ fixed: 5, isDate: true, iso: '2026-01-01T00:00:00.000Z' })
  },
)

test('the clock of another program does not change', async () => {
  const [times] = await shift(await started('list'), DAY_MS, 1)
  expect(Math.abs((times as Times).now - Date.now())).toBeLessThan(60_000)
})
