import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { createLogger } from '../../../src/lib/log/logger.ts'
import { create, loadSupervisorConfig } from '../../../src/supervisor/index.ts'
import { FakeBackend } from '../workspace/backend/fake-backend.ts'
import { makeWorkspace, startWorkspaceServer } from '../workspace/server/test-server.ts'
import type { Changes } from './compare.ts'
import type { Address } from './generated-request.ts'

/** A route through a proxy to a port of this machine. */
export interface Front {
  readonly name: string
  readonly port: number
  readonly address: Address
  readonly changes: Changes
}

/** Upstreams by a name that is valid in a host name. */
export type Upstreams = readonly { readonly name: string; readonly port: number }[]

/** Proxies under test and their routes. */
export interface Fronts {
  /** Routes to each upstream. */
  readonly to: ReadonlyMap<string, readonly Front[]>
  readonly stop: () => Promise<void>
}

/** Starts a workspace server and a supervisor in this process and returns all routes through them to each upstream. */
export async function startFronts(upstreams: Upstreams): Promise<Fronts> {
  const server = await startWorkspaceServer({ backends: () => [new FakeBackend()] })
  await makeWorkspace(server.url, { name: 'demo' })
  const supervisor = await startSupervisor(upstreams)
  const waysTo = (name: string, port: number): readonly Front[] => {
    const processHost = `${name}.localhost`
    const portHost = `${port}--demo.localhost:${server.httpPort}`
    const prefix = `/api/workspaces/demo/proxy/${port}`
    return [
      {
        name: 'supervisor',
        port: supervisor.port,
        address: { host: processHost, prefix: '' },
        changes: { host: processHost, prefix: '', withheld: [] },
      },
      {
        name: 'port by host',
        port: server.httpPort,
        address: { host: portHost, prefix: '' },
        changes: { host: portHost, prefix: '', withheld: [] },
      },
      {
        name: 'port by path',
        port: server.httpPort,
        address: { host: `127.0.0.1:${server.httpPort}`, prefix },
        changes: { host: `localhost:${port}`, prefix, withheld: ['cookie'] },
      },
    ]
  }
  return {
    to: new Map(upstreams.map(({ name, port }) => [name, waysTo(name, port)])),
    async stop() {
      await Promise.all([server.stop(), supervisor.stop()])
    },
  }
}

async function startSupervisor(upstreams: Upstreams) {
  const dir = mkdtempSync(join(tmpdir(), 'differential-'))
  const file = join(dir, 'supervisor.yaml')
  const processes = Object.fromEntries(
    upstreams.map(({ name, port }) => [name, { cmd: 'exec sleep 100000', proxy: { port } }]),
  )
  writeFileSync(
    file,
    stringify({
      api: { port: 0 },
      log: { level: 'silent' },
      state_dir: 'state',
      proxy: { enabled: true, port: 0, keep: 10, timeout: '20s' },
      processes,
    }),
  )
  const { config } = loadSupervisorConfig({ HOME: dir }, { file })
  const logger = createLogger({ level: 'fatal', format: 'json' })
  const environment = { PATH: process.env['PATH'], HOME: dir }
  const running = await create(config, { logger, environment }).start()
  if (running.proxyPort === undefined) throw new Error('the proxy does not run')
  return {
    port: running.proxyPort,
    async stop() {
      await running.stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
