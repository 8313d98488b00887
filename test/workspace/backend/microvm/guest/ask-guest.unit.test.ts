import { duplexPair, type Duplex } from 'node:stream'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { encodeMessage, readMessage } from '../../../../../src/lib/guest/message.ts'
import { type AgentPulse, askGuest } from '../../../../../src/workspace/backend/microvm/guest/ask-guest.ts'

const QUIET_MS = 30_000
const MOST_MS = 300_000

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

/** Sends a request; returns its outcome so far, and its agent's end of the connection. */
function ask(pulse: AgentPulse): { readonly outcome: () => string; readonly agent: Duplex } {
  const [connection, agent] = duplexPair()
  let outcome = 'waiting'
  askGuest(connection, { do: 'health' }, { pulse }).then(
    () => (outcome = 'answered'),
    (error: { readonly code: string }) => (outcome = error.code),
  )
  return { outcome: () => outcome, agent }
}

async function answer(agent: Duplex): Promise<void> {
  await readMessage(agent)
  agent.write(encodeMessage({ ok: true }))
  await settle()
}
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
async function pass(ms: number): Promise<void> {
  vi.advanceTimersByTime(ms)
  await settle()
}

test('an agent that answers others is waited for until it is silent', async () => {
  const pulse = { lastMs: 0 }
  const waiting = ask(pulse)
  for (let round = 0; round < 4; round++) {
    await pass(QUIET_MS - 1)
    await answer(ask(pulse).agent)
    expect(waiting.outcome()).toBe('waiting')
  }
  await pass(QUIET_MS - 1)
  expect(waiting.outcome()).toBe('waiting')
  await pass(1)
  expect(waiting.outcome()).toBe('BACKEND_ERROR')
})

test('a late answer is accepted', async () => {
  const pulse = { lastMs: 0 }
  const waiting = ask(pulse)
  await pass(QUIET_MS - 1)
  await answer(ask(pulse).agent)
  await pass(QUIET_MS - 1)
  await answer(waiting.agent)
  expect(waiting.outcome()).toBe('answered')
})

test('an agent that answers only others is not waited for without end', async () => {
  const pulse = { lastMs: 0 }
  const waiting = ask(pulse)
  for (let ms = 0; ms < MOST_MS - QUIET_MS; ms += QUIET_MS / 2) {
    await pass(QUIET_MS / 2)
    await answer(ask(pulse).agent)
  }
  expect(waiting.outcome()).toBe('waiting')
  for (let ms = 0; ms < QUIET_MS; ms += QUIET_MS / 2) {
    await pass(QUIET_MS / 2)
    await answer(ask(pulse).agent)
  }
  expect(waiting.outcome()).toBe('BACKEND_ERROR')
})

test("another agent's answers do not extend the time", async () => {
  const waiting = ask({ lastMs: 0 })
  await pass(QUIET_MS - 1)
  await answer(ask({ lastMs: 0 }).agent)
  await pass(1)
  expect(waiting.outcome()).toBe('BACKEND_ERROR')
})
