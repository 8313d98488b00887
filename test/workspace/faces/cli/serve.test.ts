import { expect, test } from 'vitest'
import { serveCli, userEnvironment } from '../../../support/workspace/client/workspace-cli.ts'

/** Something open that no part of the server closes, in its process only: a timer. */
const OPEN = `data:text/javascript,${encodeURIComponent('if (process.argv[2] === "serve") setInterval(() => undefined, 1e6)')}`

test('F36 a server exits when it has stopped, although something is left open', async () => {
  const environment = userEnvironment({ NODE_OPTIONS: `--import ${OPEN}`, WORKSPACE_SSH__PROCESSES: '0' })
  const { child, exit } = await serveCli(environment)
  child.kill('SIGTERM')
  expect(await exit).toBe(0)
})
