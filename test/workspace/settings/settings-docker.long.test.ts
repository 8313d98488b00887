import { expect, onTestFinished, test } from 'vitest'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'
import { call, startWorkspaceServer } from '../../support/workspace/server/test-server.ts'

test('settings of a container survive a restart, and its expiry deletes it', async () => {
  let server = await startWorkspaceServer({ stateDir: tempDir() })
  onTestFinished(async () => {
    await server.api('workspaces/expiring', 'DELETE')
    await server.stop()
  })
  const path = () => `${server.url}/api/workspaces/expiring`
  const created = await server.create({
    name: 'expiring',
    labels: { team: 'web', old: '' },
    ttl_s: 86_400,
    expire_action: 'delete',
  })
  expect(created.status).toBe(201)
  const { body } = await call(path(), 'PATCH', { labels: { old: null }, wake: false })
  const expected = { labels: { team: 'web' }, wake: false, expires_at: created.body.expires_at }
  expect(body).toMatchObject(expected)
  server = await server.restart()
  expect((await call(path())).body).toMatchObject({ ...expected, expire_action: 'delete' })
  await call(path(), 'PATCH', { ttl_s: 1 })
  await waitFor('its deletion', async () => (await call(path())).status === 404)
})
