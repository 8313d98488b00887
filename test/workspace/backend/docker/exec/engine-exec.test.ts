import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { dockerBackend, removeLeftovers, TEST_IMAGE, uniqueName } from '../../../../support/engine/docker.ts'
import { waitFor } from '../../../../support/wait-for.ts'
import { backendCreate } from '../../../../support/workspace/backend-create.ts'

/** At a time; the engine then passes on the first output of every tenth program before it has recorded the process. */
const PROGRAMS = 24
const ROUNDS = 4

test('a program that is hung up at its first output ends, even before the engine knows its process', async () => {
  const backend = dockerBackend({ network: 'none' })
  await backend.open(() => undefined)
  onTestFinished(() => backend.close())
  const name = uniqueName('hung-up')
  onTestFinished(() => removeLeftovers(name))
  await backend.create(backendCreate(name, TEST_IMAGE), () => undefined, new AbortController().signal)
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
