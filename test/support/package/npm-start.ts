import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { answers } from '../answers.ts'
import { waitFor } from '../wait-for.ts'

/** Runs `npm start` on free ports as in the README, and waits until the server responds; it is stopped with the test. */
export async function npmStart(environment: NodeJS.ProcessEnv) {
  const npm = spawn('npm', ['start'], {
    cwd: packageRoot,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    env: {
      ...environment,
      WORKSPACE_HTTP__PORT: '0',
      WORKSPACE_SSH__PORT: '0',
      WORKSPACE_LOG__FORMAT: 'json',
    },
  })
  const ended = once(npm, 'exit')
  onTestFinished(() => {
    try {
      process.kill(-(npm.pid ?? 0), 'SIGKILL')
    } catch {
      // It has exited, as expected.
    }
  })
  let said = ''
  for (const stream of [npm.stdout, npm.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (said += text))
  const url = () => /API +(http:\S+)/.exec(said)?.[1] ?? ''
  const isUp = async () => url() !== '' && (await answers(url()))
  await waitFor('the server to respond', isUp, 120_000)
  return {
    url: new URL(url()).origin,
    said: () => said,
    /** Sends npm a signal and waits until the server has stopped too. */
    async end(signal: NodeJS.Signals): Promise<void> {
      npm.kill(signal)
      await ended
      await waitFor('the server to stop', async () => !(await isUp()))
    },
  }
}
