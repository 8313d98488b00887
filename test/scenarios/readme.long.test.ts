import { expect, onTestFinished, test } from 'vitest'
import { packageRoot } from '../../src/lib/process/package.ts'
import { docker, uniqueName } from '../support/engine/docker.ts'
import { serveRepository } from '../support/services/git-daemon.ts'
import { blocksOf, runTranscript } from '../support/transcript.ts'
import { serveCli, userEnvironment } from '../support/workspace/client/workspace-cli.ts'

/**
 * Differs from what a reader does in three ways: a local `git daemon` replaces GitHub, so the workspaces share the host's
 * network, are not isolated and have no address; and the name is unique to this test.
 */
test('the README’s transcript matches what happens', async () => {
  const block = blocksOf('README.md').find(
    ({ heading, language }) => heading === 'Try it' && language === 'console',
  )
  if (block === undefined) throw new Error('README.md has no transcript below "Try it"')
  const daemon = await serveRepository('octocat/Hello-World', { README: 'Hello World!\n' })
  onTestFinished(() => daemon.stop())
  const name = uniqueName('demo')
  onTestFinished(async () => {
    await docker('rm', '-f', `ws-${name}`)
    await docker('volume', 'rm', '-f', `ws-${name}`)
  })
  const user = userEnvironment()
  const { child, httpPort, exit } = await serveCli({ ...user, WORKSPACE_DOCKER__NETWORK: 'host' })
  const steps = await runTranscript(block, {
    cwd: packageRoot,
    environment: {
      ...user,
      WORKSPACE_URL: `http://127.0.0.1:${httpPort}`,
      // npx draws a spinner while it looks for the program.
      npm_config_progress: 'false',
    },
    stands: [
      ['demo', name],
      ['--repo octocat/', `--repo ${daemon.url}octocat/`],
      ['https://github.com/', daemon.url],
    ],
    lacks: /^ip_address/,
    varies: [[/isolated: \w+/, 'isolated: VARIES']],
  })
  expect(steps).toBeGreaterThan(5)
  child.kill('SIGTERM')
  expect(await exit).toBe(0)
})
