import { appendFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startSupervisor, type TestSupervisor } from '../../support/supervisor/supervisor.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'

const LONG = 'exec sleep 1000'

async function restartsOf({ ask }: TestSupervisor, name = 'web'): Promise<number> {
  return (await ask(`/processes/${name}`)).body.restarts
}

/** Starts a supervisor with a project and a watched process; `change` writes one of its files. */
async function watched(
  watch: Readonly<Record<string, unknown>>,
  more: Readonly<Record<string, unknown>> = {},
) {
  const dir = tempDir()
  for (const folder of ['src/deep', 'node_modules/x', '.git', 'logs'])
    mkdirSync(join(dir, folder), { recursive: true })
  writeFileSync(join(dir, 'src/a.ts'), '')
  const supervisor = await startSupervisor(
    { web: { cmd: LONG, watch: { debounce: '50ms', ...watch }, ...more } },
    {},
    dir,
  )
  const change = (file: string): void => appendFileSync(join(dir, file), 'x')
  const untilRestarts = (count: number) =>
    waitFor(`${count} restarts`, async () => (await restartsOf(supervisor)) >= count)
  return { ...supervisor, dir, change, untilRestarts, restarts: () => restartsOf(supervisor) }
}

test('a changed file restarts the process, and the reason names it', async () => {
  const { ask, change, untilRestarts } = await watched({ paths: ['src/**/*.ts'] })
  const before = (await ask('/processes/web')).body.pid
  change('src/a.ts')
  await untilRestarts(1)
  const { body } = await ask('/processes/web/why')
  expect(body).toMatchObject({ status: 'running', reason: 'src/a.ts changed', restarts: 1 })
  expect(body.pid).not.toBe(before)
  expect(body.starts.at(-1).reason).toBe('src/a.ts changed')
})

test('only files that match and are not ignored count', async () => {
  const { change, untilRestarts, restarts, dir, ask } = await watched(
    { paths: ['**/*.{ts,log}', 'package.json'], ignore: ['*.test.ts', 'src/deep'] },
    { log: { file: 'logs/web.log' }, cmd: `echo line; ${LONG}` },
  )
  for (const file of [
    'src/a.js',
    'src/a.test.ts',
    'src/deep/b.ts',
    'node_modules/x/index.ts',
    '.git/c.ts',
    'src/.a.ts.swp',
    'logs/web.log',
    'logs/web.log.1',
  ])
    change(file)
  writeFileSync(join(dir, 'package.json'), '{}')
  await untilRestarts(1)
  const { starts } = (await ask('/processes/web/why')).body
  expect(starts.map(({ reason }: any) => reason)).toEqual([
    'started by the supervisor',
    'package.json changed',
  ])
  expect(await restarts()).toBe(1)
})

test('a storm of changes causes one restart', async () => {
  const { change, untilRestarts, restarts, ask } = await watched({ paths: 'src', debounce: '300ms' })
  for (let i = 0; i < 200; i++) change(`src/file${i % 20}.ts`)
  await untilRestarts(1)
  expect((await ask('/processes/web')).body.reason).toMatch(/^src\/file\d+\.ts and 19 more changed$/)
  // A later change comes after everything the storm caused.
  change('src/last.ts')
  await untilRestarts(2)
  expect((await ask('/processes/web')).body.reason).toBe('src/last.ts changed')
  expect(await restarts()).toBe(2)
})

test('new, replaced and deleted files and directories count', async () => {
  const { dir, untilRestarts, ask } = await watched({ paths: ['src/**/*.ts'] })
  const reason = async () => (await ask('/processes/web')).body.reason
  mkdirSync(join(dir, 'new'))
  writeFileSync(join(dir, 'new/b.ts'), '')
  renameSync(join(dir, 'new'), join(dir, 'src/new'))
  await untilRestarts(1)
  expect(await reason()).toMatch(/^src\/new/)
  writeFileSync(join(dir, 'src/new/c.ts'), '')
  await untilRestarts(2)
  expect(await reason()).toBe('src/new/c.ts changed')
  writeFileSync(join(dir, 'src/a.ts~'), 'y')
  renameSync(join(dir, 'src/a.ts~'), join(dir, 'src/a.ts'))
  await untilRestarts(3)
  expect(await reason()).toBe('src/a.ts changed')
  rmSync(join(dir, 'src/new/b.ts'))
  await untilRestarts(4)
  expect(await reason()).toBe('src/new/b.ts changed')
})

test('a process that exited starts again, and one that was stopped by hand does not', async () => {
  const dir = tempDir()
  const watch = { paths: ['ready', 'a.ts'], debounce: '10ms' }
  const { ask, until } = await startSupervisor(
    {
      web: { cmd: 'test -e ready || exit 3; exec sleep 1000', restart: 'never', watch },
      // Restarted later than the other one would be.
      witness: { cmd: LONG, watch: { ...watch, debounce: '200ms' } },
    },
    {},
    dir,
  )
  await until('web', 'crashed')
  writeFileSync(join(dir, 'ready'), '')
  await until('web', 'running')
  expect((await ask('/processes/web')).body.reason).toBe('ready changed')
  const restartsOfWitness = async () => (await ask('/processes/witness')).body.restarts
  await waitFor('the witness', async () => (await restartsOfWitness()) === 1)
  await ask('/processes/web/stop', 'POST')
  writeFileSync(join(dir, 'a.ts'), '')
  await waitFor('the witness', async () => (await restartsOfWitness()) === 2)
  expect((await ask('/processes/web')).body.status).toBe('stopped')
})

test('a reload changes what is watched', async () => {
  const { ask, change, write, untilRestarts, restarts } = await watched({ paths: ['src/a.ts'] })
  write({
    api: { port: 0 },
    log: { level: 'silent' },
    state_dir: 'state',
    processes: { web: { cmd: LONG, watch: { paths: ['src/b.ts'], debounce: '10ms' } } },
  })
  expect((await ask('/reload', 'POST')).status).toBe(200)
  const before = await restarts()
  change('src/a.ts')
  change('src/b.ts')
  await untilRestarts(before + 1)
  expect((await ask('/processes/web')).body.reason).toBe('src/b.ts changed')
})

test.each([
  [{ paths: Array.from({ length: 101 }, () => 'x') }, /at most 100 patterns/],
  [{ paths: 'x'.repeat(1_001) }, /at most 1000 characters/],
  [{ paths: [] }, /watch\.paths/],
  [{ ignore: ['x'] }, /watch/],
])('the watch %j is refused', async (watch, message) => {
  await expect(startSupervisor({ web: { cmd: LONG, watch } })).rejects.toThrow(message)
})
