import { spawn } from 'node:child_process'
import { expect, onTestFinished, test } from 'vitest'
import { runCommand } from '../../../src/supervisor/health/run-command.ts'

test('a character of a check that arrived in pieces became U+FFFD', async () => {
  const command = String.raw`printf '\342\202'; sleep 0.2; printf '\254\n'; exit 1`
  const place = { cwd: '/', environment: { PATH: '/usr/bin:/bin' }, user: undefined }
  expect(await runCommand(command, place, new AbortController().signal)).toEqual({
    isDone: false,
    output: '€',
  })
})

test('the last output of a check was lost when its exit was noticed first', async () => {
  // Checks print and exit while this blocks, after the system was asked what can be read.
  const busy = spawn('yes', { stdio: ['ignore', 'pipe', 'ignore'] })
  onTestFinished(() => void busy.kill('SIGKILL'))
  const never = new Int32Array(new SharedArrayBuffer(4))
  busy.stdout.on('data', () => Atomics.wait(never, 0, 0, 5))
  const place = { cwd: '/', environment: { PATH: '/usr/bin:/bin' }, user: undefined }
  const { signal } = new AbortController()
  const checks = Array.from({ length: 60 }, () => runCommand('echo not well; exit 1', place, signal))
  expect((await Promise.all(checks)).map(({ output }) => output)).toEqual(checks.map(() => 'not well'))
})
