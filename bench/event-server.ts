import { createServer, type ServerResponse } from 'node:http'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { AddressInfo } from 'node:net'
import { createLogger } from '../src/lib/log/logger.ts'
import { loadWorkspaceConfig } from '../src/workspace/config.ts'
import { create } from '../src/workspace/index.ts'
import { FakeBackend } from '../test/support/workspace/backend/fake-backend.ts'

// node event-server.ts ours|plain: prints the URL of its event stream; every line on standard input creates one
// event.

const [url, sendEvent] = await (process.argv[2] === 'ours' ? ours() : plain())
console.log(url)
for await (const _ of createInterface({ input: process.stdin })) sendEvent()
process.exit(0)

/** The workspace server with one workspace, whose state changes. */
async function ours(): Promise<readonly [string, () => void]> {
  const backend = new FakeBackend()
  const { config } = loadWorkspaceConfig(
    {},
    {
      flags: {
        state_dir: mkdtempSync(join(tmpdir(), 'workspace-bench-')),
        http: { port: 0 },
        ssh: { port: 0 },
      },
    },
  )
  const logger = createLogger({ level: 'error', format: 'json' })
  const server = await create(config, { logger, backends: [backend] }).start()
  const origin = `http://127.0.0.1:${server.httpPort}`
  await fetch(`${origin}/api/workspaces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'demo' }),
  })
  let isRunning = true
  return [
    `${origin}/api/events`,
    () => {
      isRunning = !isRunning
      backend.happen('demo', { is: isRunning ? 'running' : 'stopped' })
    },
  ]
}

/** The minimum that Node can do: sends the same bytes to everyone, without limits or checks. */
async function plain(): Promise<readonly [string, () => void]> {
  const readers = new Set<ServerResponse>()
  const workspace = { name: 'demo', status: 'running', created_at: '2026-01-01T00:00:00.000Z', repo: '' }
  const data = JSON.stringify({
    type: 'changed',
    workspace: { ...workspace, image: 'workspace-base:1', ip: '127.0.0.1' },
  })
  let lastId = 0
  const event = (): string => `event: workspace\nid: ${lastId}\ndata: ${data}\n\n`
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(event())
    readers.add(response)
  })
  await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, resolve))
  return [
    `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/events`,
    () => {
      lastId++
      for (const reader of readers) reader.write(event())
    },
  ]
}
