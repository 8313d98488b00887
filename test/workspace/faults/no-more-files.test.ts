import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { run } from '../../../src/lib/process/run.ts'
import { leftovers, removeLeftovers, uniqueName } from '../../support/docker.ts'
import { serve } from '../../support/served.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'
import { call, makeWorkspace } from '../../support/workspace-server.ts'

const CONNECTIONS = 200

test('F12 a server that may open no more files fails what it is asked, whole, and goes on after it', async () => {
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

  await waitFor('an answer', async () => (await call(`${server.url}/api/workspaces`)).status === 200)
  expect((await call(`${server.url}/api/workspaces/${name}`)).body).toMatchObject({ status: 'running' })
  expect((await call(`${server.url}/api/workspaces/${name}`, 'DELETE')).status).toBe(204)
  expect(await leftovers(name)).toEqual([])
  expect(await server.end('SIGTERM')).toBe(0)
})

function flood(port: number): Socket {
  const socket = connect(port, '127.0.0.1')
  return socket.on('error', () => undefined).resume()
}
