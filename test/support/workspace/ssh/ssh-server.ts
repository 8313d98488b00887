import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { onTestFinished } from 'vitest'
import { createLogger } from '../../../../src/lib/log/logger.ts'
import { anyKey, type KeyRule } from '../../../../src/workspace/faces/ssh/authorized-keys.ts'
import { ConnectionServer } from '../../../../src/workspace/faces/ssh/connection-server.ts'
import {
  createWorkspaceResolver,
  workspaceResolver,
} from '../../../../src/workspace/faces/ssh/workspace-resolver.ts'
import { WorkspaceTable } from '../../../../src/workspace/lifecycle/table.ts'
import { AccessControl } from '../../../../src/workspace/team/access-control.ts'
import { loadHostKey } from '../../../../src/workspace/faces/ssh/host-key.ts'
import { SshServer } from '../../../../src/workspace/faces/ssh/server.ts'
import { tempDir } from '../../temp-dir.ts'

/** The SSH face alone, without workspaces, for tests of what precedes a login; stopped with the test. */
export async function sshServer(options: { readonly graceMs?: number; readonly keyRule?: KeyRule } = {}) {
  const lines: string[] = []
  const refusals: string[] = []
  const destination = new PassThrough().setEncoding('utf8').on('data', (line: string) => lines.push(line))
  const logger = createLogger({ level: 'debug', format: 'json', destination })
  const hostKey = await loadHostKey(join(tempDir(), 'host_key'))
  const table = new WorkspaceTable()
  const resolver = createWorkspaceResolver(
    workspaceResolver(
      table,
      { wake: (workspace) => Promise.resolve(workspace) },
      new AccessControl(undefined, table),
    ),
    new Map(),
  )
  const { privateKey } = hostKey
  const settings = { privateKey, resolver, keyRule: anyKey, deniedPorts: [], logger }
  const handler = new ConnectionServer({ ...settings, ...options })
  const server = new SshServer(
    handler,
    {
      onLogin: () => () => undefined,
      onRefused: ({ code }) => void refusals.push(code),
      onEntry: () => undefined,
    },
    logger,
  )
  const port = await server.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(() => server.stop())
  return { server, port, hostKey, refusals, log: (): readonly string[] => lines }
}
