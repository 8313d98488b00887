import { spawn } from 'node:child_process'
import { expect, onTestFinished, test } from 'vitest'
import { run } from '../../src/lib/process/run.ts'
import { FakeBackend } from '../support/fake-backend.ts'
import { waitFor } from '../support/wait-for.ts'
import { makeWorkspace, startWorkspaceServer } from '../support/workspace-server.ts'

/** The two ends of a cable between this machine and a network namespace of the test's own. */
const HERE = '192.168.231.1'
const THERE = '192.168.231.2'
const LIMIT_MS = 30_000

test(
  'F31 a reader and a tunnel whose other end vanishes are ended within 30 s',
  { timeout: 90_000 },
  async () => {
    const namespace = `ws-test-${process.pid}`
    await ip('netns', 'add', namespace)
    onTestFinished(() => ip('netns', 'delete', namespace))
    await ip('link', 'add', 'wstest0', 'type', 'veth', 'peer', 'name', 'wstest1', 'netns', namespace)
    await ip('address', 'add', `${HERE}/30`, 'dev', 'wstest0')
    await ip('-n', namespace, 'address', 'add', `${THERE}/30`, 'dev', 'wstest1')
    await ip('link', 'set', 'wstest0', 'up')
    await ip('-n', namespace, 'link', 'set', 'wstest1', 'up')
    const server = await startWorkspaceServer({
      backends: () => [new FakeBackend()],
      settings: { http: { host: HERE } },
    })
    onTestFinished(() => server.stop())
    const url = `http://${HERE}:${server.httpPort}`
    await makeWorkspace(url, { name: 'demo' })

    const inside = (...argv: readonly string[]) => {
      const client = spawn('ip', ['netns', 'exec', namespace, ...argv], {
        stdio: ['pipe', 'ignore', 'ignore'],
      })
      onTestFinished(() => void client.kill('SIGKILL'))
    }
    inside('curl', '-sN', `${url}/api/events`)
    // A tunnel to the server itself, which keeps it open and says nothing.
    const upgrade = ['-H', 'Connection: Upgrade', '-H', 'Upgrade: workspace-tcp']
    inside('curl', '-sN', ...upgrade, `${url}/api/workspaces/demo/connect/${server.sshPort}`)
    const connections = async () =>
      (await run('ss', ['-Htn', 'state', 'established', 'dst', THERE])).stdout.split('\n').filter(Boolean)
        .length
    await waitFor('both connections', async () => (await connections()) === 2)

    await ip('-n', namespace, 'link', 'set', 'wstest1', 'down')
    const beganMs = performance.now()
    await waitFor('their end', async () => (await connections()) === 0, LIMIT_MS)
    expect(performance.now() - beganMs).toBeLessThan(LIMIT_MS)
  },
)

async function ip(...argv: readonly string[]): Promise<void> {
  const { status, stderr } = await run('ip', argv)
  if (status !== 0) throw new Error(`ip ${argv.join(' ')}: ${stderr}`)
}
