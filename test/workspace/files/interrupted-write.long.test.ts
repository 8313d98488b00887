import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { call, makeWorkspace, startWorkspaceServer } from '../../support/workspace/server/test-server.ts'
import { docker, dockerBackend, uniqueName } from '../../support/engine/docker.ts'

/** Each leaves a file if nothing removes it. */
const RUNS = 10

/** Sends half of a file of 2 MB. Returns the connection once some of it has arrived. */
async function halfUpload(url: string, name: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const client = connect(Number(port), hostname)
  await once(client, 'connect')
  const head = `PUT /api/workspaces/${name}/files?path=/workspace/new HTTP/1.1\r\nhost: ${hostname}\r\n`
  client.write(`${head}content-type: application/octet-stream\r\ncontent-length: 2000000\r\n\r\n`)
  client.write(Buffer.alloc(1_000_000))
  for (;;) if ((await docker('exec', `ws-${name}`, 'ls', '-A', '/workspace')) !== '') break
  return client.on('error', () => undefined)
}

test('a stop during an upload, or right after it was cut, leaves no file', { timeout: 300_000 }, async () => {
  const { url, stop } = await startWorkspaceServer({ backends: () => [dockerBackend()] })
  onTestFinished(stop)
  const name = uniqueName('cut')
  await makeWorkspace(url, { name })
  onTestFinished(() => call(`${url}/api/workspaces/${name}`, 'DELETE').then(() => undefined))
  const left: string[] = []
  for (let run = 0; run < RUNS; run++) {
    const client = await halfUpload(url, name)
    if (run % 2 === 0) client.resetAndDestroy()
    expect((await call(`${url}/api/workspaces/${name}/stop`, 'POST')).status).toBe(200)
    expect((await call(`${url}/api/workspaces/${name}/start`, 'POST')).status).toBe(200)
    client.destroy()
    left.push(...(await docker('exec', `ws-${name}`, 'ls', '-A', '/workspace')).split('\n').filter(Boolean))
  }
  expect(left).toEqual([])
})
