import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'

// npm passes a signal on to its shell alone: a shell that was still there died of it and left the server running.
test.each(['SIGTERM', 'SIGINT'] as const)('%s to npm start ends the server', async (signal) => {
  const npm = spawn('npm', ['start'], {
    cwd: packageRoot,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    env: {
      ...process.env,
      DOCKER_HOST: 'unix:///nonexistent/engine.sock',
      WORKSPACE_HTTP__PORT: '0',
      WORKSPACE_SSH__PORT: '0',
      WORKSPACE_STATE_DIR: tempDir(),
      WORKSPACE_LOG__FORMAT: 'json',
    },
  })
  onTestFinished(() => {
    try {
      process.kill(-(npm.pid ?? 0), 'SIGKILL')
    } catch {
      // It has ended, as it should.
    }
  })
  let said = ''
  for (const stream of [npm.stdout, npm.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (said += text))
  const url = () => /API +(http:\S+)/.exec(said)?.[1] ?? ''
  const answers = async () => url() !== '' && (await fetch(url()).catch(() => undefined))?.ok === true
  await waitFor('the server to answer', answers)
  npm.kill(signal)
  await once(npm, 'exit')
  await waitFor('the server to be gone', async () => !(await answers()), 5_000)
  expect(said).toContain('Try, in another terminal in this folder')
})
