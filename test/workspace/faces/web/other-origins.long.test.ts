import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { packageRoot } from '../../../../src/lib/process/package.ts'
import { openPage } from '../../../support/browser/chromium.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { waitFor } from '../../../support/wait-for.ts'
import { makeWorkspace, startWorkspaceServer } from '../../../support/workspace/server/test-server.ts'

/** Size limit of everything the browser loads before a terminal is opened, compressed. */
const MAX_FIRST_BYTES = 150_000

test('another site can neither frame the page nor open a terminal', async () => {
  const server = await startWorkspaceServer({ backends: () => [new FakeBackend()] })
  onTestFinished(() => server.stop())
  await makeWorkspace(server.url, { name: 'demo' })
  const site = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' })
    response.end(`<!doctype html><title>site</title><iframe src="${server.url}/"></iframe>`)
  })
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void site.close())
  const page = await openPage(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`)
  await waitFor('the frame to be refused', () =>
    page.complaints.some((each) => each.includes("frame-ancestors 'none'")),
  )
  const terminal = `${server.url.replace('http', 'ws')}/api/workspaces/demo/terminal`
  const outcome = await page.evaluate(
    `new Promise((resolve) => {
      const socket = new WebSocket(${JSON.stringify(terminal)}, 'terminal')
      socket.onopen = () => resolve('opened')
      socket.onerror = () => resolve('refused')
    })`,
  )
  expect(outcome).toBe('refused')
  await waitFor('the status 403', () => page.complaints.some((each) => /403/.test(each)))
})

test('the initial download is within its size limit', () => {
  const built = join(packageRoot, 'src/workspace/faces/web/built')
  const files = ['index.html', ...globSync('assets/index-*', { cwd: built })]
  const bytes = files.reduce((sum, file) => sum + gzipSync(readFileSync(join(built, file))).length, 0)
  expect(files.length).toBeGreaterThan(2)
  expect(bytes).toBeLessThan(MAX_FIRST_BYTES)
})
