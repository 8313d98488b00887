import { expect, onTestFinished, test } from 'vitest'
import { expectAccessible } from '../../../support/browser/accessible.ts'
import { dockerBackend, removeLeftovers, uniqueName } from '../../../support/engine/docker.ts'
import { openWorkspacePage } from '../../../support/workspace/client/workspace-page.ts'
import { call, makeWorkspace, startWorkspaceServer } from '../../../support/workspace/server/test-server.ts'

test('the page takes checkpoints, rewinds to them and deletes them', async () => {
  const server = await startWorkspaceServer({ backends: () => [dockerBackend()] })
  onTestFinished(() => server.stop())
  const name = uniqueName('page-rewind')
  onTestFinished(() => removeLeftovers(name))
  await makeWorkspace(server.url, { name })
  const at = `${server.url}/api/workspaces/${name}`
  const command = async (text: string) =>
    (await call(`${at}/exec`, 'POST', { command: text })).body.stdout as string
  await command('echo first > file')
  const page = await openWorkspacePage(server.url)
  await page.goTo(`#/workspaces/${name}`)
  await page.untilText('[data-card=checkpoints]', 'No checkpoints')
  await page.choose('[data-card=checkpoints] header button')
  await page.untilText('[data-card=checkpoints]', 'taken by a user')

  await command('echo second > file')
  await page.choose('[data-checkpoint] button')
  await page.untilText('dialog', 'Programs running in it are terminated')
  await page.keep('rewind')
  await page.choose('dialog button.danger')
  await page.untilGone('dialog')
  await page.untilText('[data-card=checkpoints]', 'undoes a rewind')
  await page.untilText('.page-head .status', 'running')
  expect(await command('cat file')).toBe('first\n')
  await page.keep('checkpoints')
  await expectAccessible(page, 'checkpoints')

  // The newest comes first.
  await page.choose('[data-checkpoint] button:last-child')
  await page.choose('dialog button.danger')
  await page.untilGone('dialog')
  await page.until('the deletion', 'document.querySelectorAll("[data-checkpoint]").length === 1')
  expect((await call(`${at}/checkpoints`)).body.checkpoints).toMatchObject([{ reason: 'manual' }])
})
