import { createServer, type RequestListener } from 'node:http'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { WebSocketServer } from 'ws'
import { openPage } from '../../../support/browser/chromium.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import {
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../../support/workspace/server/test-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startWorkspaceServer({ backends: () => [new FakeBackend()] })
  await makeWorkspace(server.url, { name: 'demo' })
})
afterAll(() => server.stop())

/** A page inside the workspace whose script makes attempts and records their results. */
async function serveInside(attempts: Readonly<Record<string, string>>) {
  const script = `
    window.results = {}
    const attempts = { ${Object.entries(attempts)
      .map(([name, code]) => `${JSON.stringify(name)}: async () => { ${code} }`)
      .join(',')} }
    for (const [name, attempt] of Object.entries(attempts))
      try { window.results[name] = String(await attempt()) } catch (error) { window.results[name] = 'refused' }
    document.title = 'done'`
  const listener: RequestListener = (asked, answer) => {
    answer.writeHead(200, { 'content-type': 'text/html' })
    const page = `<!doctype html><body><script type="module">${script}</script>`
    answer.end(asked.url === '/own' ? 'own answer' : page)
  }
  const inside = createServer(listener)
  new WebSocketServer({ server: inside }).on('connection', (socket) => socket.send('hello'))
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    inside.closeAllConnections()
    inside.close()
  })
  return (inside.address() as { port: number }).port
}

/** Attempts of a workspace's page against the server that proxies it. */
function attemptsOn(origin: string) {
  const socket = (url: string) =>
    `return new Promise((resolve, reject) => { const s = new WebSocket('${url}', 'terminal'); s.onopen = () => resolve('open'); s.onerror = reject })`
  return {
    read: `return (await fetch('${origin}/api/info')).text()`,
    stop: `return (await fetch('${origin}/api/workspaces/demo/stop', { method: 'POST' })).status`,
    blindStop: `return (await fetch('${origin}/api/workspaces/demo/stop', { method: 'POST', mode: 'no-cors' })).type`,
    terminal: socket(`${origin.replace('http', 'ws')}/api/workspaces/demo/terminal`),
    storage: `return sessionStorage.length`,
    frame: `const f = document.createElement('iframe'); f.src = '${origin}/'; document.body.append(f); await new Promise((resolve) => { f.onload = resolve; setTimeout(resolve, 1000) }); return f.contentDocument.title`,
  }
}

async function resultsOf(url: string): Promise<Readonly<Record<string, string>>> {
  const page = await openPage(url)
  await expect.poll(() => page.evaluate<string>('document.title')).toBe('done')
  return page.evaluate('window.results')
}

test('a page below a path reaches neither the API nor the browser’s storage for it', async () => {
  const origin = `http://127.0.0.1:${server.httpPort}`
  const port = await serveInside(attemptsOn(origin))
  const results = await resultsOf(`${origin}/api/workspaces/demo/proxy/${port}/`)
  const { blindStop, ...others } = results
  for (const [name, result] of Object.entries(others)) expect(result, name).toBe('refused')
  // Sent without reading the response; the server refuses it and the workspace keeps running.
  expect(['opaque', 'refused']).toContain(blindStop)
  expect(await (await fetch(`${origin}/api/workspaces/demo`)).json()).toMatchObject({ status: 'running' })
})

test('a page at its own host reaches its own port and WebSocket, but not the API', async () => {
  const origin = `http://localhost:${server.httpPort}`
  const port = await serveInside({
    ...attemptsOn(origin),
    own: `return (await fetch('/own')).text()`,
    ownSocket: `return new Promise((resolve, reject) => { const s = new WebSocket('ws://' + location.host + '/'); s.onmessage = ({ data }) => resolve(data); s.onerror = reject })`,
    ownStorage: `localStorage.setItem('a', 'b'); return localStorage.getItem('a')`,
    ownApi: `return (await (await fetch('/api/info')).text()).includes('<script')`,
  })
  const results = await resultsOf(`http://${port}--demo.localhost:${server.httpPort}/`)
  expect(results).toMatchObject({ own: 'own answer', ownSocket: 'hello', ownStorage: 'b', ownApi: 'true' })
  for (const name of ['read', 'stop', 'terminal', 'frame']) expect(results[name], name).toBe('refused')
  expect(await (await fetch(`${origin}/api/workspaces/demo`)).json()).toMatchObject({ status: 'running' })
})
