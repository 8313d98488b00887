import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { packageRoot } from '../../src/lib/process/package.ts'
import { run } from '../../src/lib/process/run.ts'
import { FakeBackend } from '../support/workspace/backend/fake-backend.ts'
import { simulatedGuest } from '../support/workspace/guest/guest-simulator.ts'
import { waitFor } from '../support/wait-for.ts'
import { startWorkspaceServer } from '../support/workspace/server/test-server.ts'

/** The example imports the package by name, like users do, and therefore runs the build. */
const example = (end: string) => join(packageRoot, 'examples/greeter', `${end}.ts`)

test('the extension example greets a program with the name of its workspace', async () => {
  const backend = new FakeBackend()
  const server = await startWorkspaceServer({ backends: () => [backend] })
  onTestFinished(() => server.stop())
  const guest = await simulatedGuest(backend, 'demo')
  const host = spawn(process.execPath, [example('host')], {
    env: { ...process.env, WORKSPACE_URL: server.url },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  onTestFinished(() => void host.kill())
  await waitFor('both ends', async () => (await server.api('plugins/listeners')).body.listeners.length === 1)
  const environment = { ...process.env, WORKSPACE_AGENT_URL: new URL('/', guest.url).href }
  const { stdout, stderr } = await run(process.execPath, [example('guest'), 'Ada'], { environment })
  expect([stdout, stderr]).toEqual(['Hello Ada, from the host of demo\n', ''])
})
