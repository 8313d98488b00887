import { expect, onTestFinished, test } from 'vitest'
import { connect } from '../../../src/workspace/client/sdk/connect.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { startWorkspaceServer } from '../../support/workspace/server/test-server.ts'

test('set changes settings, and null restores a default', async () => {
  const { url, stop } = await startWorkspaceServer({ backends: () => [new FakeBackend()] })
  onTestFinished(stop)
  const workspace = await connect({ url }).create({ name: 'demo', labels: { my_key: 'a' } })
  const expiresAt = new Date(Date.now() + 86_400_000).toISOString()
  const labels = { my_Key: 'b', my_key: null }
  const changed = await workspace.set({ labels, idle: { stopAfter: '10m' }, wake: true, expiresAt })
  expect(changed).toMatchObject({ labels: { my_Key: 'b' }, idle: { stopAfter: 600 }, wake: true, expiresAt })
  expect(changed.labels).not.toHaveProperty('my_key')
  const restored = await workspace.set({ idle: null, wake: null, expiresAt: null })
  for (const name of ['idle', 'wake', 'expiresAt']) expect(restored).not.toHaveProperty(name)
  expect(restored.labels).toEqual({ my_Key: 'b' })
})
