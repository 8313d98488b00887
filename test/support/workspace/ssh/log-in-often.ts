import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AddressInfo } from 'node:net'
import { createLogger } from '../../../../src/lib/log/logger.ts'
import { anyKey } from '../../../../src/workspace/faces/ssh/authorized-keys.ts'
import { ConnectionServer } from '../../../../src/workspace/faces/ssh/connection-server.ts'
import {
  createWorkspaceResolver,
  workspaceResolver,
} from '../../../../src/workspace/faces/ssh/workspace-resolver.ts'
import { WorkspaceTable } from '../../../../src/workspace/lifecycle/table.ts'
import { AccessControl } from '../../../../src/workspace/team/access-control.ts'
import { loadHostKey } from '../../../../src/workspace/faces/ssh/host-key.ts'

// Logs in over SSH as often as its argument requests, and prints how many acknowledgments the kernel delayed in
// the meantime. Runs in a separate network namespace, whose counters no other program changes.

const root = mkdtempSync(join(tmpdir(), 'logins-'))
const { privateKey } = await loadHostKey(join(root, 'host_key'))
const table = new WorkspaceTable()
const resolver = createWorkspaceResolver(
  workspaceResolver(
    table,
    { wake: (workspace) => Promise.resolve(workspace) },
    new AccessControl(undefined, table),
  ),
  new Map(),
)
const logger = createLogger({ level: 'silent', format: 'json' })
const handler = new ConnectionServer({ privateKey, resolver, keyRule: anyKey, deniedPorts: [], logger })
const server = createServer({ pauseOnConnect: true }, (socket) => void handler.admit(socket)).listen(
  0,
  '127.0.0.1',
)
await once(server, 'listening')
const { port } = server.address() as AddressInfo
const options = [
  'UserKnownHostsFile=/dev/null',
  'StrictHostKeyChecking=no',
  'IdentityFile=none',
  'LogLevel=QUIET',
]
const argv = ['-F', '/dev/null', ...options.flatMap((option) => ['-o', option]), '-p', String(port)]
for (let login = 0; login < Number(process.argv[2]); login++) {
  // The client sends its algorithms and its key before it learns that there is no key to log in with.
  await once(spawn('ssh', [...argv, 'dev@127.0.0.1', 'true'], { stdio: 'ignore' }), 'close')
}
console.log(delayed())
server.close()
await handler.stop()
rmSync(root, { recursive: true })

/** Returns DelayedACKs of TcpExt. Source: /proc/net/netstat. */
function delayed(): number {
  const [names = '', values = ''] = readFileSync('/proc/net/netstat', 'utf8').split('\n')
  return Number(values.split(' ')[names.split(' ').indexOf('DelayedACKs')])
}
