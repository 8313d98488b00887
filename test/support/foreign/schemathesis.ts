import { join } from 'node:path'
import { expect } from 'vitest'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { tempDir } from '../temp-dir.ts'
import { runProgram } from '../workspace/ssh/open-ssh.ts'
import { foreignProgram, versionOf } from './clients.ts'

const schemathesis = foreignProgram('schemathesis')
const EXAMPLES = process.env['SCHEMATHESIS_EXAMPLES'] ?? '20'

/** Its version. */
export const VERSION = versionOf([schemathesis, '--version'])

/** Requests that fit a server's description, and some that do not; the expected statuses are in schemathesis.toml. */
export async function expectConformance(
  program: string,
  url: string,
  ...options: readonly string[]
): Promise<void> {
  const config = join(packageRoot, 'test/fixtures/foreign/schemathesis', `${program}.toml`)
  const run = [
    'run',
    `${url}/openapi.json`,
    '--phases',
    'examples,coverage,fuzzing',
    '-c',
    'all',
    '--seed',
    '1',
  ]
  const more = ['--max-examples', EXAMPLES, '--request-timeout', '30', '--no-color', ...options]
  const { status, stdout } = await runProgram('env', [
    '-C',
    tempDir(),
    schemathesis,
    '--config-file',
    config,
    ...run,
    ...more,
  ])
  const output = stdout.toString()
  if (status !== 0) throw new Error(output.slice(output.indexOf('= FAILURES')).slice(0, 20_000))
  expect(output).toMatch(/[1-9]\d* generated/)
}
