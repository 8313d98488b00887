import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { isAlive } from '../../../src/lib/process/is-alive.ts'
import { sample } from '../../support/rounds.ts'
import { waitFor } from '../../support/wait-for.ts'

const PROGRAM = fileURLToPath(new URL('../../fixtures/launcher/launched.ts', import.meta.url))
const LAUNCH = `require('node:child_process').spawn(process.execPath, [${JSON.stringify(PROGRAM)}], { stdio: 'inherit' })`

/** Starts the launcher of a program, and waits until the program is running. */
async function launch(program: string, argv: readonly string[], environment: NodeJS.ProcessEnv = {}) {
  const launcher: ChildProcessByStdio<null, Readable, null> = spawn(program, argv, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...environment },
  })
  onTestFinished(() => void launcher.kill('SIGKILL'))
  let said = ''
  launcher.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
  await waitFor('the program', () => /pid \d+\n/.test(said))
  const pid = Number(/pid (\d+)/.exec(said)?.[1])
  onTestFinished(() => {
    if (isAlive(pid)) process.kill(pid, 'SIGKILL')
  })
  return { launcher, pid, said: () => said, lines: () => said.split('on\n').length - 1 }
}

const LAUNCHERS = [
  ['npm start', process.execPath, ['-e', `process.title = 'npm start'; ${LAUNCH}`]],
  ['npm exec', process.execPath, ['-e', `process.title = 'npm exec workspace serve'; ${LAUNCH}`]],
  [
    'a launcher that names itself',
    process.execPath,
    ['-e', `process.env.SUITE_LAUNCHER = process.pid; ${LAUNCH}`],
  ],
  ['an npm script', 'sh', ['-c', `SUITE_LAUNCHER=$$ "${process.execPath}" "${PROGRAM}"; true`]],
] as const

test.each(sample(LAUNCHERS, 2))(
  'a server whose launcher is killed by signal 9 stops: %s',
  async (_what, program, argv) => {
    const { launcher, pid, said } = await launch(program, argv)
    launcher.kill('SIGKILL')
    await waitFor('its end', () => !isAlive(pid))
    await expect.poll(said).toContain('stopped in good order')
  },
)

test('a server that starts after its launcher has exited stops', async () => {
  const { pid } = await launch(process.execPath, [PROGRAM], { SUITE_LAUNCHER: '999999999' })
  await expect.poll(() => isAlive(pid)).toBe(false)
})

test('a daemon started by a shell in the background outlives the shell', { tags: ['long'] }, async () => {
  const script = `"${process.execPath}" "${PROGRAM}" & wait`
  const { launcher, pid, lines } = await launch('sh', ['-c', script])
  launcher.kill('SIGKILL')
  const before = lines()
  await waitFor('several more looks', () => lines() > before + 6)
  expect(isAlive(pid)).toBe(true)
})
