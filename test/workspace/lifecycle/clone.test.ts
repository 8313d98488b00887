import { expect, onTestFinished, test } from 'vitest'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { stuckGitServer } from '../../support/services/stuck-git-server.ts'
import { waitFor } from '../../support/wait-for.ts'
import { startWorkspaceServer } from '../../support/workspace/server/test-server.ts'

/**
 * Regression: a clone noticed the abort only while git was running; aborted during git's start, it waited for
 * git to exit.
 */
test('F36 a clone aborted while git is starting stops immediately', async () => {
  const backend = new FakeBackend()
  const server = await startWorkspaceServer({ backends: () => [backend] })
  onTestFinished(() => server.stop())
  const git = await stuckGitServer()
  const starting = Promise.withResolvers<void>()
  let isStarting = false
  backend.before.set('exec', () => {
    isStarting = true
    return starting.promise
  })
  const creation = server.create({ name: 'dev', repo: git.repo })
  await waitFor('git', () => isStarting)
  const removal = server.api('workspaces/dev', 'DELETE')
  // One more answer means that the removal was noticed.
  await server.api('info')
  starting.resolve()
  expect((await creation).body.error.code).toBe('WORKSPACE_BUSY')
  expect((await removal).status).toBe(204)
  expect(await backend.find('dev')).toBeUndefined()
})
