import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Bench } from '../harness.ts'
import { serve } from '../served.ts'

const WORKSPACES = 200
const ENGINE = '/var/run/docker.sock'

const bench: Bench = {
  note: `One request for the list of ${WORKSPACES} workspaces over a new connection: GET /api/workspaces of our server, in a separate process, and GET /containers/json?all=1 of the engine that runs them.`,

  async prepare() {
    const stateDir = mkdtempSync(join(tmpdir(), 'workspace-bench-'))
    const serverId = randomUUID()
    writeFileSync(join(stateDir, 'server-id'), serverId)
    const names = Array.from({ length: WORKSPACES }, (_, i) => `ws-bench-${process.pid}-${i}`)
    for (const name of names) {
      const labels = {
        server_id: serverId,
        name: name.slice('ws-'.length),
        created_at: new Date().toISOString(),
      }
      const flags = Object.entries(labels).flatMap(([key, value]) => ['--label', `workspace.${key}=${value}`])
      execFileSync('docker', ['create', '--name', name, ...flags, 'workspace-base:1'], { stdio: 'ignore' })
    }
    const server = await serve(stateDir)
    const list = new URL('/api/workspaces', server.url)
    const { workspaces } = JSON.parse(await get(list)) as { workspaces: unknown[] }
    if (workspaces.length !== WORKSPACES) throw new Error(`listed ${workspaces.length} workspaces`)
    return {
      cases: [
        {
          name: `${WORKSPACES} workspaces listed`,
          ours: () => get(list),
          peer: () => get({ socketPath: ENGINE, path: '/containers/json?all=1' }),
          peerName: 'the engine',
        },
      ],
      async cleanUp() {
        execFileSync('docker', ['rm', '-f', ...names], { stdio: 'ignore' })
        await server.stop()
      },
    }
  },
}
export default bench

function get(at: URL | { readonly socketPath: string; readonly path: string }): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = at instanceof URL ? request(at, { agent: false }) : request({ ...at, agent: false })
    asked.on('response', (response) => void text(response).then(resolve, reject))
    asked.on('error', reject).end()
  })
}
