import { expect, test } from 'vitest'
import { npmStart } from '../support/package/npm-start.ts'
import { tempDir } from '../support/temp-dir.ts'

// npm forwards a signal only to its shell: an intermediate shell died of it and left the server running.
test.each(['SIGTERM', 'SIGINT', 'SIGKILL'] as const)('%s to npm start stops the server', async (signal) => {
  const server = await npmStart({
    ...process.env,
    DOCKER_HOST: 'unix:///nonexistent/engine.sock',
    WORKSPACE_STATE_DIR: tempDir(),
  })
  await server.end(signal)
  expect(server.said()).toContain('In another terminal, in this folder, try:')
})
