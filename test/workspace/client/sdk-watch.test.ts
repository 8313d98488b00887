import { expect, onTestFinished, test } from 'vitest'
import { connect } from '../../../src/workspace/client/sdk/connect.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { startWorkspaceServer } from '../../support/workspace/server/test-server.ts'

test('a watch yields its start and then changes, also of directories inside', async () => {
  const { url, stop } = await startWorkspaceServer({ backends: () => [new FakeBackend()] })
  onTestFinished(stop)
  const { files } = await connect({ url }).create({ name: 'demo' })
  await files.mkdir('watched/in')
  const seen: string[] = []
  for await (const event of files.watch('watched', { recursive: true })) {
    seen.push(event.type === 'ready' ? event.type : `${event.type} ${event.path}`)
    if (event.type === 'ready') await files.write('watched/in/new', 'content')
    if (seen.includes('write in/new')) break
  }
  expect(seen).toEqual(['ready', 'create in/new', 'write in/new'])
  await expect(files.watch('missing').next()).rejects.toMatchObject({ code: 'FILE_NOT_FOUND', status: 404 })
})
