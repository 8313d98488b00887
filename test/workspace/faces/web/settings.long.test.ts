import { expect, onTestFinished, test } from 'vitest'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { openWorkspacePage } from '../../../support/workspace/client/workspace-page.ts'
import { startWorkspaceServer } from '../../../support/workspace/server/test-server.ts'

test('the page changes settings of a workspace', async () => {
  const server = await startWorkspaceServer({ backends: () => [new FakeBackend()] })
  onTestFinished(() => server.stop())
  const first = { name: 'demo', labels: { team: 'web' }, idle: { stop_after: '2h' } }
  await server.create(first)
  const page = await openWorkspacePage(server.url)
  await page.goTo('#/workspaces/demo')
  const edit = '[data-card=facts] .card-head button'
  await page.choose(edit)
  const values = `[...document.querySelectorAll('dialog [name]')].map(({ name, value }) => name + '=' + value).filter((each) => !each.endsWith('='))`
  await page.until('the fields', `document.querySelector('dialog input[name=labels]') !== null`)
  expect(await page.evaluate(values)).toEqual(['labels=team=web', 'idle.stop_after=2h'])
  await page.keep('settings')

  // An error is shown, and what was entered stays.
  await page.fill('dialog input[name="schedule.start"]', 'Monday morning')
  await page.choose('dialog button[type=submit]')
  await page.untilText('dialog [role=alert]', 'schedule.start')
  await page.fill('dialog input[name="schedule.start"]', 'Mon-Fri 08:00')
  await page.fill('dialog input[name=labels]', 'team=core, tier=dev')
  await page.fill('dialog input[name="idle.stop_after"]', '30m')
  await page.choose('dialog button[type=submit]')
  await page.untilGone('dialog')
  await page.untilText('[data-card=facts]', 'team=core, tier=dev')
  const settings = async () => (await server.api('workspaces/demo')).body
  expect(await settings()).toMatchObject({
    labels: { team: 'core', tier: 'dev' },
    idle: { stop_after: 1_800 },
    schedule: { start: '0 8 * * 1-5' },
  })

  // An emptied field returns to the default.
  await page.choose(edit)
  await page.fill('dialog input[name="idle.stop_after"]', ' ')
  await page.choose('dialog button[type=submit]')
  await page.untilGone('dialog')
  expect((await settings()).idle).toBeUndefined()
})
