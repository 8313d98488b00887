import { expect, onTestFinished, test } from 'vitest'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { openWorkspacePage } from '../../../support/workspace/client/workspace-page.ts'
import { makeWorkspace, startWorkspaceServer } from '../../../support/workspace/server/test-server.ts'

test('the page forks a workspace and shows the tree of forks', async () => {
  const server = await startWorkspaceServer({ backends: () => [new FakeBackend()] })
  onTestFinished(() => server.stop())
  await makeWorkspace(server.url, { name: 'demo' })
  await makeWorkspace(server.url, { name: 'try-2' })
  const page = await openWorkspacePage(server.url)
  await page.goTo('#/workspaces/demo')
  await page.choose('button[aria-label="Fork demo"]')
  await page.fill('dialog input[name=count]', '2')
  await page.fill('dialog input[name=prefix]', 'try')
  await page.keep('fork')
  await page.choose('dialog button[type=submit]')
  // None is created: the error names what is in the way.
  await page.untilText('dialog [role=alert]', 'try-2')
  await page.fill('dialog input[name=prefix]', 'attempt')
  await page.choose('dialog button[type=submit]')
  await page.untilGone('dialog')
  await page.untilText('[data-card=forks]', 'attempt-2')
  await page.choose('[data-card=forks] a[href="#/workspaces/attempt-1"]')
  await page.untilText('h1', 'attempt-1')
  await page.untilText('[data-card=forks]', 'demo')
  const current = `document.querySelector('[data-card=forks] [aria-current=page]').textContent`
  expect(await page.evaluate(current)).toBe('attempt-1')
  await page.keep('forks')
})
