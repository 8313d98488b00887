import { mkdtempSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLogger } from '../src/lib/log/logger.ts'
import { loadWorkspaceConfig } from '../src/workspace/config.ts'
import { create } from '../src/workspace/index.ts'
import { FakeBackend } from '../test/support/workspace/backend/fake-backend.ts'

// node bus-server.ts TOKEN: prints the address of its API and the Unix socket for guests, which send their name in
// the first line.

const [token = ''] = process.argv.slice(2)
const directory = mkdtempSync(join(tmpdir(), 'workspace-bench-'))
const backend = new FakeBackend()
const { config } = loadWorkspaceConfig(
  {},
  { flags: { state_dir: directory, http: { port: 0 }, ssh: { port: 0 } } },
)
const logger = createLogger({ level: 'error', format: 'json' })
const server = await create(config, { logger, backends: [backend] }).start()
const socket = join(directory, 'guests')
createServer((connection) => {
  connection.once('data', (line: Buffer) => {
    connection.pause()
    const end = line.indexOf('\n')
    connection.unshift(line.subarray(end + 1))
    backend.admitGuest(line.toString('latin1', 0, end), token, connection)
    connection.resume()
  })
}).listen({ path: socket, backlog: 4096 }, () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${server.httpPort}`, socket }))
})
