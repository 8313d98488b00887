import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { run } from '../../../src/lib/process/run.ts'

// Regression: this caused a stack trace.
test.each(['workspace', 'supervisor', 'content-server', 'analyzer'])(
  '%s exits silently when nobody reads its output',
  async (program) => {
    const line = 'set -o pipefail; "$0" "$1" completion bash | true'
    const file = join(packageRoot, `src/bin/${program}.ts`)
    const { status, stderr } = await run('bash', ['-c', line, process.execPath, file])
    expect([status, stderr]).toEqual([0, ''])
  },
)
