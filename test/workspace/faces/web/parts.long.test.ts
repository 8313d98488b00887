import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { busClient } from '../../../support/workspace/client/bus-client.ts'
import { openPage } from '../../../support/browser/chromium.ts'
import { dockerBackend, leftovers, TEST_IMAGE, uniqueName } from '../../../support/engine/docker.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { waitFor } from '../../../support/wait-for.ts'
import { openWorkspacePage } from '../../../support/workspace/client/workspace-page.ts'
import { makeWorkspace, startWorkspaceServer } from '../../../support/workspace/server/test-server.ts'

test('the disk page shows usage and prunes by plan, review and confirmation', async () => {
  const backend = dockerBackend()
  const server = await startWorkspaceServer({
    backends: () => [backend],
    settings: { default_image: TEST_IMAGE },
  })
  onTestFinished(() => server.stop())
  const [old, running] = [uniqueName('disk'), uniqueName('disk')]
  onTestFinished(async () => {
    for (const name of [old, running]) await server.api(`workspaces/${name}`, 'DELETE')
  })
  await makeWorkspace(server.url, { name: old })
  await makeWorkspace(server.url, { name: running })
  await server.api(`workspaces/${old}/stop`, 'POST')

  const page = await openWorkspacePage(`${server.url}/#/disk`)
  await page.untilText('[data-card=map] table', old)
  await page.untilText('[data-card=totals]', 'Workspaces')
  await page.choose('[data-card=map] summary')
  await page.keep('disk')

  // The engine is shared, so only items of this server may be in the plan.
  await page.choose('input[name=images]')
  await page.choose('input[name=orphans]')
  await page.choose('.prune button[type=submit]')
  await page.untilText('[data-prune=skipped]', 'too recent')
  await page.untilText('[data-prune=skipped]', 'running')
  await page.choose('[data-card=prune] .form-actions button')
  await page.fill('input[name=until]', '0s')
  await page.choose('.prune button[type=submit]')
  await page.untilText('[data-prune=items]', old)
  await page.untilText('[data-prune=skipped]', running)
  await page.keep('prune')
  await page.choose('[data-card=prune] .form-actions .danger')
  await page.untilText('dialog', 'permanently')
  expect(await leftovers(old)).not.toEqual([])
  await page.choose('dialog .danger')
  await page.untilText('[data-card=prune] [role=status]', 'Deleted 1 item')
  expect(await leftovers(old)).toEqual([])

  await page.choose('[data-card=compact] .button')
  await page.untilText('[data-card=compact] [role=status]', 'Compacted 0 items')
  expect(page.complaints).toEqual([])
})

test('the bus page shows listeners, connected workspaces, messages and losses', async () => {
  const backend = new FakeBackend()
  const server = await startWorkspaceServer({ backends: () => [backend] })
  onTestFinished(() => server.stop())
  const { listen, connected } = busClient(() => ({ server, backend }))
  const guest = await connected('demo')
  const page = await openWorkspacePage(`${server.url}/#/bus`)
  await page.untilText('[data-connected=demo]', 'docker')
  await guest.publish({ namespace: 'nobody:listens', type: 'event', payload: { password: 'hunter2' } })
  await page.untilText('.tail', 'lost: no listener')
  const listener = await listen('heard')
  await page.untilText('[data-listener=heard]', 'heard')
  await guest.publish({ namespace: 'heard', type: 'event', payload: { step: 3, password: 'hunter2' } })
  await listener.first(1)
  await page.untilText('.tail', 'heard')
  await page.choose('.tail tbody tr:first-child summary')
  await page.untilText('.tail pre', '"step": 3')
  await page.until('a rate', `Number(document.querySelector('[data-card=rates] strong').textContent) > 0`)
  expect(await page.evaluate('document.body.textContent')).not.toContain('hunter2')
  await page.keep('bus')
  expect(page.complaints).toEqual([])
})

test('an open port is listed and opened in a new tab', async () => {
  const service = createServer((_request, response) => response.end('<!doctype html><p>from inside</p>'))
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void service.close())
  const { port } = service.address() as AddressInfo
  const server = await startWorkspaceServer({ backends: () => [new FakeBackend()] })
  onTestFinished(() => server.stop())
  await makeWorkspace(server.url, { name: 'demo' })
  const page = await openWorkspacePage(`${server.url}/#/workspaces/demo`)
  await page.choose(`[data-port="${port}"] button`)
  const address = `http://${port}--demo.localhost:${server.httpPort}/`
  await waitFor('the port’s tab', async () => (await page.tabs()).includes(address))
  const inside = await openPage(address)
  expect(await inside.evaluate('document.body.textContent')).toBe('from inside')
})
