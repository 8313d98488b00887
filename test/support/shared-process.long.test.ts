import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { packageRoot } from '../../src/lib/process/package.ts'
import { testFiles } from './test-files.ts'

/** Runs a test file per piece of code, each in a separate process. */
function runEach(codes: readonly string[]): { readonly status: number | null; readonly output: string } {
  const setup = `${packageRoot}/test/support/shared-process.ts`
  const root = testFiles({
    'vitest.config.ts': `export default { test: { pool: 'forks', maxWorkers: 8, setupFiles: ['${setup}'] } }`,
    ...Object.fromEntries(
      codes.map((code, i) => [
        `${i}.test.ts`,
        `import { test } from 'vitest'\ntest('changes its process', async () => { ${code} })`,
      ]),
    ),
  })
  const { status, stdout, stderr } = spawnSync('npx', ['vitest', 'run', '--root', root], {
    cwd: packageRoot,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
  })
  return { status, output: `${stdout}${stderr}` }
}

test('an everyday file fails that leaves anything to the next', () => {
  const left: Readonly<Record<string, string>> = {
    'variable LEFT (none before, here after)': `process.env['LEFT'] = 'here'`,
    'directory (': `process.chdir('/')`,
    'umask (22 before, 77 after)': 'process.umask(0o77)',
    'platform (linux before, aix after)': `Object.defineProperty(process, 'platform', { value: 'aix' })`,
    'listeners of SIGUSR2 (none before, 1 after)': `process.on('SIGUSR2', () => undefined)`,
    'TCPServerWrap (none before, 1 after)': `(await import('node:net')).createServer().listen(0)`,
    '(none before, sleep 8 after)': `(await import('node:child_process')).spawn('sleep', ['8'], { stdio: 'ignore' })`,
    'fake timers': `(await import('vitest')).vi.useFakeTimers()`,
  }
  const { status, output } = runEach(Object.values(left))
  for (const found of Object.keys(left)) expect(output).toContain(found)
  expect(output).toMatch(/Test Files +8 failed/)
  expect(status).toBe(1)
})

test('an everyday file passes that restores what it changed, and whose process ends soon', () => {
  const { status, output } = runEach([
    `process.env['LEFT'] = 'here'; delete process.env['LEFT']`,
    `const server = (await import('node:net')).createServer(); server.listen(0, () => server.close())`,
    `(await import('node:child_process')).spawn('sleep', ['0.1'])`,
  ])
  expect(output).toMatch(/Test Files +3 passed/)
  expect(status).toBe(0)
})
