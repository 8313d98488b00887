import { expect, onTestFinished, test } from 'vitest'
import { FakeBackend } from '../../support/workspace/fake-backend.ts'
import { stuckGitServer } from '../../support/services/stuck-git-server.ts'
import { waitFor } from '../../support/wait-for.ts'
import { call, startWorkspaceServer } from '../../support/workspace/workspace-server.ts'

/** The clone heard of being given up only while git ran: told while git was being started, it waited for git's own end. */
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
  const creation = call(`${server.url}/api/workspaces`, 'POST', { name: 'dev', repo: git.repo })
  await waitFor('git', () => isStarting)
  const removal = call(`${server.url}/api/workspaces/dev`, 'DELETE')
  // One more answer means that the removal has been heard.
  await call(`${server.url}/api/info`)
  starting.resolve()
  expect((await creation).body.error.code).toBe('WORKSPACE_BUSY')
  expect((await removal).status).toBe(204)
  expect(await backend.find('dev')).toBeUndefined()
})
