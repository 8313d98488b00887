import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Duplex, duplexPair } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { encodeMessage } from '../../../../../src/lib/guest/message.ts'
import { awaitAgent } from '../../../../../src/workspace/backend/microvm/guest/await-agent.ts'
import { identify } from '../../../../../src/workspace/backend/microvm/monitor/machine-process.ts'
import { tempDir } from '../../../../support/temp-dir.ts'

/** Instead of three minutes: a boot of twelve minutes takes 1.2 s here. */
const TIMEOUT_MS = 300

/** A VM whose console prints a line at intervals, and whose agent responds after a while. */
async function boot({ printEveryMs, answersAfterMs }: Record<'printEveryMs' | 'answersAfterMs', number>) {
  const monitor = spawn('sleep', ['600'])
  onTestFinished(() => void monitor.kill())
  await once(monitor, 'spawn')
  const process = await identify(monitor.pid ?? 0)
  if (process === undefined) throw new Error('it has ended')
  const consoleLog = join(tempDir(), 'console.log')
  writeFileSync(consoleLog, 'workspace-init: ready\n')
  const printing = setInterval(() => appendFileSync(consoleLog, 'a unit has started\n'), printEveryMs)
  onTestFinished(() => clearInterval(printing))
  const answersAt = performance.now() + answersAfterMs
  return awaitAgent({
    process,
    consoleLog,
    monitorLog: join(tempDir(), 'monitor.log'),
    consoleStart: 0,
    isResumed: false,
    setting: { hostname: 'demo', agentToken: 'token' },
    signal: new AbortController().signal,
    timeoutMs: TIMEOUT_MS,
    dialGuest: () => {
      if (performance.now() < answersAt) return Promise.reject(new Error('nobody listens'))
      const [host, guest]: [Duplex, Duplex] = duplexPair()
      guest.once('data', () => guest.write(encodeMessage({ ok: true })))
      return Promise.resolve(host)
    },
  })
}

const NEVER = 2 ** 30

test('a boot that exceeds its timeout is waited for while its console keeps printing', async () => {
  await expect(boot({ printEveryMs: 50, answersAfterMs: 3 * TIMEOUT_MS })).resolves.toBeUndefined()
})

test('a boot whose console falls silent fails', async () => {
  const silent = boot({ printEveryMs: NEVER, answersAfterMs: NEVER })
  await expect(silent).rejects.toThrow(/did not respond within .* silent for .*\(vm.boot_timeout\)/)
})

test('a guest that prints for ever does not boot for ever', { tags: ['long'] }, async () => {
  const babbling = boot({ printEveryMs: 20, answersAfterMs: NEVER })
  await expect(babbling).rejects.toThrow(/did not respond within .* its console is still printing/)
})
