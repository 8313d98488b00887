import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { run } from '../../../src/lib/process/run.ts'
import { leftovers, removeLeftovers, uniqueName } from '../../support/engine/docker.ts'
import { recovery } from '../../support/recovery.ts'
import { serve } from '../../support/served.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'
import { call, makeWorkspace } from '../../support/workspace/server/test-server.ts'

const CONNECTIONS = 200

test('F12 a server out of file descriptors fails requests completely and recovers', async (context) => {
  const stateDir = join(tempDir(), 'state')
  const server = await serve({ stateDir })
  const name = uniqueName('files')
  onTestFinished(() => removeLeftovers(name))
  await makeWorkspace(server.url, { name })
  const files = () => readdirSync(`/proc/${server.child.pid}/fd`).length
  const limit = files() + 20
  const limited = await run('prlimit', ['--pid', String(server.child.pid), `--nofile=${limit}:${limit}`])
  expect(limited.status).toBe(0)

  const sockets = Array.from({ length: CONNECTIONS }, () => flood(Number(new URL(server.url).port)))
  await waitFor('the limit', () => files() >= limit - 1)
  expect(server.child.exitCode).toBeNull()
  for (const socket of sockets) socket.destroy()

  await recovery(context, () => waitFor('a response', () => isAnswered(server.url)))
  expect((await server.api(`workspaces/${name}`)).body).toMatchObject({ status: 'running' })
  expect((await server.api(`workspaces/${name}`, 'DELETE')).status).toBe(204)
  expect(await leftovers(name)).toEqual([])
  expect(await server.end('SIGTERM')).toBe(0)
})

test('H11 a flood of connections leaves the server enough file descriptors to work', async () => {
  const stateDir = join(tempDir(), 'state')
  const server = await serve({ stateDir, openFiles: 200 })
  const name = uniqueName('flood')
  onTestFinished(() => removeLeftovers(name))
  const files = () => readdirSync(`/proc/${server.child.pid}/fd`).length
  const kept = await connectedTo(server.url)
  const before = files()
  const sockets = Array.from({ length: 2 * CONNECTIONS }, () => flood(Number(new URL(server.url).port)))
  await waitFor('the flood', () => files() > before + 100)
  // One of the 160 connections is already served.
  await waitFor('those over the limit to be cut', () => sockets.filter((each) => !each.closed).length <= 159)
  expect(files()).toBeLessThan(200)
  expect(await kept.create(name)).toContain('HTTP/1.1 201')
  for (const socket of sockets) socket.destroy()
  await waitFor('a free descriptor', () => isAnswered(server.url))
  expect((await server.api(`workspaces/${name}`, 'DELETE')).status).toBe(204)
})

/** The connection may also be closed. */
function isAnswered(url: string): Promise<boolean> {
  return call(`${url}/api/workspaces`).then(
    ({ status }) => status === 200,
    () => false,
  )
}

/** A connection opened before the flood. */
async function connectedTo(url: string) {
  const { port, host } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1').setEncoding('utf8')
  onTestFinished(() => void socket.destroy())
  await new Promise((resolve) => socket.once('connect', resolve))
  return {
    create(name: string): Promise<string> {
      const body = JSON.stringify({ name })
      const head = `POST /api/workspaces HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\n`
      socket.write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`)
      return new Promise((resolve) => socket.once('data', resolve))
    },
  }
}

function flood(port: number): Socket {
  const socket = connect(port, '127.0.0.1')
  return socket.on('error', () => undefined).resume()
}
