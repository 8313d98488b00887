import { expect, onTestFinished, test } from 'vitest'
import { connect } from '../../../src/workspace/client/sdk/connect.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { startWorkspaceServer } from '../../support/workspace/server/test-server.ts'

test('names that are not UTF-8 are addressed by their encoded form', async () => {
  const { url, stop } = await startWorkspaceServer({ backends: () => [new FakeBackend()] })
  onTestFinished(stop)
  const { files } = await connect({ url }).create({ name: 'demo' })
  const at = (name: string) => ({ encoded: `n%E4mes/${name}` })
  await files.mkdir({ encoded: 'n%E4mes' })
  const seen: string[] = []
  for await (const event of files.watch({ encoded: 'n%E4mes' })) {
    if (event.type === 'ready') await files.write(at('caf%E9'), 'content')
    else seen.push(`${event.type} ${event.path} ${event.pathEncoded}`)
    if (seen.length === 2) break
  }
  expect(seen).toEqual(['create caf\uFFFD caf%E9', 'write caf\uFFFD caf%E9'])
  await files.move(at('caf%E9'), at('caf%EA%25'))
  await files.write(at('plain'), '')
  const listed = await files.list({ encoded: 'n%E4mes' })
  expect(listed.map(({ name, nameEncoded }) => [name, nameEncoded])).toEqual([
    ['caf\uFFFD%', 'caf%EA%25'],
    ['plain', undefined],
  ])
  const [{ nameEncoded = '' } = {}] = listed
  expect(await files.readText(at(nameEncoded))).toBe('content')
  expect(await files.stat(at(nameEncoded))).toMatchObject({ bytes: 7, nameEncoded })
  await files.remove({ encoded: 'n%E4mes' }, { recursive: true })
  await expect(files.list({ encoded: 'n%E4mes' })).rejects.toMatchObject({
    code: 'FILE_NOT_FOUND',
    message: '/workspace/n\uFFFDmes does not exist in the workspace',
  })
})
