import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { dockerBackend, removeLeftovers, TEST_IMAGE, uniqueName } from '../../../../support/engine/docker.ts'
import { waitFor } from '../../../../support/wait-for.ts'
import { backendCreate } from '../../../../support/workspace/backend/backend-create.ts'

/** At a time; the engine then passes on the first output of every tenth program before it has recorded the process. */
const PROGRAMS = 24
const ROUNDS = 4

async function startWorkspace() {
  const backend = dockerBackend({ network: 'none' })
  await backend.open(() => undefined)
  onTestFinished(() => backend.close())
  const name = uniqueName('exec')
  onTestFinished(() => removeLeftovers(name))
  await backend.create(backendCreate(name, TEST_IMAGE), () => undefined, new AbortController().signal)
  return { backend, name }
}

test('a terminal that is resized right after its start keeps that size', async () => {
  const { backend, name } = await startWorkspace()
  const script = 'until [ "$(stty size)" = "30 100" ]; do sleep 0.1; done; echo resized'
  const resizeAtOnce = async (): Promise<void> => {
    const terminal = { columns: 80, rows: 24 }
    const process = await backend.exec(name, { argv: ['/bin/sh', '-c', script], terminal })
    onTestFinished(() => process.hangUp())
    process.resize(100, 30)
    process.stdout.resume()
    expect((await process.exitStatus).status).toBe(0)
  }
  await Promise.all(Array.from({ length: PROGRAMS }, resizeAtOnce))
})

test('a program that is hung up at its first output ends, even before the engine knows its process', async () => {
  const { backend, name } = await startWorkspace()
  const start = (command: string) => backend.exec(name, { argv: ['/bin/sh', '-c', command] })
  const hangUpAtOnce = async (): Promise<void> => {
    const process = await start('echo begun; exec sleep 86403')
    await once(process.stdout, 'data')
    await process.hangUp()
  }
  for (let round = 0; round < ROUNDS; round += 1)
    await Promise.all(Array.from({ length: PROGRAMS }, hangUpAtOnce))
  await waitFor('the end of all programs', async () => {
    const { exitStatus } = await start('pgrep -f "^sleep 86403" >/dev/null')
    return (await exitStatus).status === 1
  })
  expect((await backend.find(name))?.state.is).toBe('running')
})
