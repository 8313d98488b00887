import { delimiter, dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { packageRoot } from '../../src/lib/process/package.ts'
import { run } from '../../src/lib/process/run.ts'
import { tempDir } from '../support/temp-dir.ts'
import { blocksOf, runTranscript, type Stage, writeBlock } from '../support/transcript.ts'
import { machineRoots, vmServer } from '../support/vm/vm-server.ts'
import { userEnvironment } from '../support/workspace/client/workspace-cli.ts'

/** The programs under the names that readers type, as `npm link` installs them. */
const PATH = [join(packageRoot, 'node_modules/.bin'), dirname(process.execPath), process.env['PATH']].join(
  delimiter,
)

test('the guide on suspended and forked machines matches what happens', async () => {
  const roots = machineRoots()
  const server = await vmServer(roots, {
    qemu: { root: roots.root, accel: 'tcg', vhost_device_vsock: '/nonexistent' },
  })
  onTestFinished(async () => {
    for (const name of ['demo', 'attempt-1', 'attempt-2']) await server.api(`workspaces/${name}`, 'DELETE')
    await server.stop()
    roots.remove()
  })
  const environment = { ...userEnvironment({ PATH }), WORKSPACE_URL: server.url }
  const stage: Stage = {
    cwd: tempDir(),
    environment,
    stands: [],
    varies: [
      [/paused for \d+ ms/, 'paused for TIME'],
      [/ \d+[smhd]$/, ' AGE'],
    ],
  }
  let steps = 0
  for (const block of blocksOf('docs/guides/sleep.md')) {
    if (block.language === 'console') steps += await runTranscript(block, stage)
    if (block.language !== 'yaml') continue
    const file = writeBlock(block, stage)
    const { status, stderr } = await run('workspace', ['config', 'check', '--config', file], { environment })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  }
  expect(steps).toBeGreaterThan(15)
})
