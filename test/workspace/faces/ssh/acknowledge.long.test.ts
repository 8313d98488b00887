import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../../../src/lib/process/package.ts'
import { run } from '../../../../src/lib/process/run.ts'

const LOGINS = 60
const PROGRAM = join(packageRoot, 'test/support/workspace/ssh/log-in-often.ts')

// OpenSSH uses Nagle's algorithm until login: it withholds its key until its algorithms are acknowledged, by default after 40 ms.
// A third of all logins waited for that acknowledgment.
test.runIf(process.platform === 'linux' && process.getuid?.() === 0)(
  'no login waits for a delayed acknowledgment',
  async () => {
    const inside = 'ip link set lo up && exec "$0" "$@"'
    const argv = ['--net', 'sh', '-c', inside, process.execPath, PROGRAM, String(LOGINS)]
    const { stdout, stderr } = await run('unshare', argv)
    expect(stderr).toBe('')
    // A few slow logins remain on a busy machine.
    expect(Number(stdout)).toBeLessThan(LOGINS / 6)
  },
)
