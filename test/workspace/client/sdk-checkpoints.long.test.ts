import { expect, onTestFinished, test } from 'vitest'
import { connect } from '../../../src/workspace/client/sdk/connect.ts'
import { dockerBackend, removeLeftovers, uniqueName } from '../../support/engine/docker.ts'
import { startWorkspaceServer } from '../../support/workspace/server/test-server.ts'

test('a rewind puts back the files of a checkpoint, and its own checkpoint undoes it', async () => {
  const server = await startWorkspaceServer({ backends: () => [dockerBackend()] })
  onTestFinished(() => server.stop())
  const name = uniqueName('sdk-rewind')
  onTestFinished(() => removeLeftovers(name))
  const created = await connect({ url: server.url }).create({ name })
  await created.files.write('file', 'first')
  const first = await created.checkpoint({ label: 'before' })
  expect(first).toMatchObject({ reason: 'manual', label: 'before' })
  await created.files.write('file', 'second')
  const second = await created.rewind(first.id)
  expect(created.info).toMatchObject({ name, status: 'running' })
  expect(await created.files.readText('file')).toBe('first')
  expect((await created.checkpoints()).map(({ id }) => id)).toEqual([first.id, second.id])
  await created.rewind(second.id)
  expect(await created.files.readText('file')).toBe('second')
  await created.deleteCheckpoint(first.id)
  await expect(created.rewind(first.id)).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' })
  await created.delete()
})
