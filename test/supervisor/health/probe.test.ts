import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { run } from '../../../src/lib/process/run.ts'

const PROGRAM = `
  import { createProbe } from ${JSON.stringify(join(packageRoot, 'src/supervisor/health/probe.ts'))}
  const monitor = new AbortController()
  const probe = createProbe({ kind: 'exec', command: ['/does/not/exist'] }, { cwd: '/', environment: {} })
  const reason = await probe(monitor.signal).catch(({ code }) => code)
  monitor.abort()
  console.log(reason)`

// A child that was never started has no id, and signals to group 0 go to the sender's group.
test("stopping a check whose program is missing does not kill the supervisor's group", async () => {
  const node = [process.execPath, '--input-type=module', '--eval', PROGRAM]
  const { status, stdout } = await run('setsid', ['--wait', ...node])
  expect({ status, stdout }).toEqual({ status: 0, stdout: 'ENOENT\n' })
})
