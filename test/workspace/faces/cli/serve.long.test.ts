import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { tempDir } from '../../../support/temp-dir.ts'
import { serveCli, userEnvironment, workspaceCli } from '../../../support/workspace/client/workspace-cli.ts'
import { waitFor } from '../../../support/wait-for.ts'

// No engine; other tests cover the server with one.
const environment = () => userEnvironment({ DOCKER_HOST: 'unix:///nonexistent/engine.sock' })

/** Something open that no part of the server closes, in its process only: a timer. */
const LEFT_OPEN = `data:text/javascript,${encodeURIComponent('if (process.argv[2] === "serve") setInterval(() => undefined, 1e6)')}`

async function refuses(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return false
  } catch {
    return true
  } finally {
    socket.destroy()
  }
}

test.each(['SIGINT', 'SIGTERM'] as const)('serve runs until %s and then exits with 0', async (signal) => {
  const { child, httpPort, exit } = await serveCli(environment())
  const url = `http://127.0.0.1:${httpPort}`
  expect(await workspaceCli(['list'], userEnvironment({ WORKSPACE_URL: url }))).toMatchObject({ status: 0 })
  child.kill(signal)
  expect(await exit).toBe(0)
})

test('a second signal exits immediately while a request is pending', async () => {
  const { child, httpPort, exit, log } = await serveCli(environment())
  const slow = connect(httpPort, '127.0.0.1').on('error', () => undefined)
  slow.write(
    'POST /api/workspaces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
  )
  await workspaceCli(['list'], userEnvironment({ WORKSPACE_URL: `http://127.0.0.1:${httpPort}` }))
  child.kill('SIGTERM')
  await waitFor('the server to stop listening', () => refuses(httpPort))
  child.kill('SIGTERM')
  expect(await exit).toBe(1)
  // The other reason for this status is the limit of the first signal.
  expect(log()).not.toContain('took too long')
  slow.destroy()
})

test('serve --tour prints addresses and first steps', async () => {
  const { child, httpPort, exit, stdout } = await serveCli(environment(), ['--tour'])
  child.kill('SIGTERM')
  await exit
  expect(stdout()).toContain(`Page       http://127.0.0.1:${httpPort}/\n`)
  expect(stdout()).toContain(`API        http://127.0.0.1:${httpPort}/api/info\n`)
  expect(stdout()).toContain(`WORKSPACE_URL=http://127.0.0.1:${httpPort} npx workspace create demo`)
  expect(stdout()).toContain('none; run "npx workspace doctor" to see what is missing')
})

test('serve on a port in use prints one line and exits with 1', async () => {
  const { httpPort } = await serveCli(environment())
  const second = await workspaceCli(
    ['serve', '--http-port', String(httpPort), '--ssh-port', '0', '--state-dir', tempDir()],
    environment(),
  )
  expect(second.status).toBe(1)
  expect(second.stderr.trim().split('\n').at(-1)).toMatch(/^workspace: .*EADDRINUSE.*/)
})

test('F36 a server exits when it has stopped, although something is left open', async () => {
  const settings = { NODE_OPTIONS: `--import ${LEFT_OPEN}`, WORKSPACE_SSH__PROCESSES: '0' }
  const { child, exit } = await serveCli({ ...environment(), ...settings })
  child.kill('SIGTERM')
  expect(await exit).toBe(0)
})
