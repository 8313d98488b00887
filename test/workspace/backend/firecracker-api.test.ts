import { once } from 'node:events'
import { renameSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { callFirecracker } from '../../../src/workspace/backend/firecracker/api.ts'
import { tempDir } from '../../support/temp-dir.ts'

async function listenAt(path: string) {
  const server = createServer((_request, response) => response.writeHead(204).end())
  await once(server.listen(`${path}.new`), 'listening')
  renameSync(`${path}.new`, path)
  return server
}

test('a request is retried while the monitor’s socket does not listen yet', async () => {
  const path = join(tempDir(), 'api.sock')
  const gone = await listenAt(path)
  gone.close()
  await once(gone, 'close')
  const [refused] = await once(connect(path), 'error')
  expect(refused).toMatchObject({ code: 'ECONNREFUSED' })
  const called = callFirecracker(path, 'PUT', '/actions', {})
  const server = await listenAt(path)
  onTestFinished(() => void server.close())
  await called
})
