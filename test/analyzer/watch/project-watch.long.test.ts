import { execFileSync, spawn } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  type AnalyzerUser,
  analyzerUser,
  builtProject,
  spawnServe,
} from '../../support/analyzer/analyzer-cli.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'

interface Status {
  readonly status: string
  readonly watch?: {
    readonly directories: number
    readonly refreshes: number
    readonly lastRefreshAt: string | null
  }
}

/** A project whose server watches it, and has done its first refresh, of what changed before it watched. */
async function watched() {
  const user = analyzerUser({ ANALYZER_SERVER__MODE: 'jar' })
  const root = builtProject()
  await user.json('start', '-p', root, '--watch')
  const server = askerOf(user)
  await server.refreshed(1)
  return { user, root, ...server }
}

function askerOf(user: AnalyzerUser) {
  const [record] = user.records()
  const get = async <T>(path: string): Promise<T> => {
    const headers = { authorization: `Bearer ${record?.token}` }
    const response = await fetch(`http://127.0.0.1:${record?.port}${path}`, { headers })
    expect(response.status).toBe(200)
    return (await response.json()) as T
  }
  const status = () => get<Status>('/admin/info')
  const classes = async () => (await get<{ classCount: number }>('/api/v1/project')).classCount
  const refreshed = (times: number) =>
    waitFor(`refresh ${times}`, async () => ((await status()).watch?.refreshes ?? 0) >= times, 60_000)
  /** Until nothing is under way any more; what a change sets off begins within its quiet time. */
  const settled = async () => {
    let last = -1
    let sinceMs = performance.now()
    await waitFor(
      'a second and a half without a refresh',
      async () => {
        const { refreshes = 0 } = (await status()).watch ?? {}
        if (refreshes !== last) sinceMs = performance.now()
        last = refreshes
        return performance.now() - sinceMs > 1_500
      },
      60_000,
    )
    return last
  }
  return { get, status, classes, refreshed, settled }
}

/** Compiles into a folder; the classes of a source are its words. */
function javac(folder: string, name: string, classes: readonly string[]): void {
  const file = join(tempDir(), `${name}.java`)
  writeFileSync(file, `package shop; ${classes.map((each) => `class ${each} {}`).join(' ')}`)
  execFileSync('javac', ['-d', folder, file], { stdio: ['ignore', 'ignore', 'inherit'] })
}

test('a build that writes 5,000 classes causes few refreshes, and the previous index answers meanwhile', async () => {
  const { root, classes, settled } = await watched()
  const before = await settled()
  const count = await classes()
  const folder = join(root, 'target/classes')
  const file = join(tempDir(), 'Many.java')
  const names = Array.from({ length: 5_000 }, (_, i) => `Made${i}`)
  writeFileSync(file, `package shop; ${names.map((each) => `class ${each} {}`).join(' ')}`)
  const build = spawn('javac', ['-d', folder, file], { stdio: 'ignore' })
  const ended = new Promise<void>((resolve) => build.once('close', () => resolve()))
  const seen = new Set<number>()
  await waitFor(
    'the new classes',
    async () => {
      seen.add(await classes())
      return seen.has(count + 5_000)
    },
    120_000,
  )
  await ended
  // A compiler that a busy machine holds up between two classes is one build more.
  expect(await settled()).toBeLessThanOrEqual(before + 3)
  expect([...seen][0]).toBe(count)
  expect(seen.size).toBeLessThanOrEqual(4)
})

test('a clean build, a new folder and a module’s first build are noticed', async () => {
  const { root, get, settled } = await watched()
  const find = async (name: string) =>
    (await get<{ totalCount: number }>(`/api/v1/classes?name=${name}`)).totalCount
  await settled()

  const folder = join(root, 'target/classes')
  rmSync(folder, { recursive: true })
  javac(folder, 'Cleaned', ['Cleaned'])
  await waitFor(
    'what the clean build made',
    async () => (await find('Cleaned')) === 1 && (await find('Shapes')) === 0,
  )

  javac(folder, 'Later', ['Later'])
  await waitFor('the second build after it', async () => (await find('Later')) === 1)

  javac(join(root, 'target/test-classes'), 'ShopTest', ['ShopTest'])
  await waitFor('the tests’ classes', async () => (await find('ShopTest')) === 1)

  mkdirSync(join(root, 'web'))
  writeFileSync(join(root, 'web/pom.xml'), '<project/>')
  writeFileSync(join(root, 'pom.xml'), '<project> </project>')
  await settled()
  javac(join(root, 'web/target/classes'), 'Web', ['Web'])
  await waitFor('the new module’s classes', async () => (await find('Web')) === 1)

  // A jar that comes to lie beside the module.
  const jar = join(tempDir(), 'money.jar')
  const made = tempDir()
  javac(made, 'Money', ['Money'])
  execFileSync('jar', ['cf', jar, '-C', made, '.'])
  mkdirSync(join(root, 'lib'))
  cpSync(jar, join(root, 'lib/money.jar'))
  await expect
    .poll(() => get('/api/v1/classes?includeLibraries=true&name=Money'))
    .toMatchObject({ totalCount: 1 })
})

test('nothing is watched by default; status shows the watch, and restart keeps it', async () => {
  const user = analyzerUser({ ANALYZER_SERVER__MODE: 'jar' })
  const root = builtProject()
  expect(await user.json<Status>('start', '-p', root)).not.toHaveProperty('watch')
  expect((await user.json<Status>('restart', '-p', root, '--watch')).watch).toMatchObject({
    directories: expect.any(Number),
  })
  const again = await user.json<Status>('restart', '-p', root)
  expect(again.watch).toMatchObject({ refreshes: expect.any(Number) })
  expect((await user.analyzer('status', '-p', root, '--table')).stdout).toMatch(
    /^Watch +\d+ director(y|ies), \d refresh(es)?$/m,
  )
  expect(await user.json<Status>('restart', '-p', root, '--no-watch')).not.toHaveProperty('watch')
  await user.analyzer('stop', '-p', root)

  const bySetting = analyzerUser({ ANALYZER_SERVER__MODE: 'jar', ANALYZER_SERVER__WATCH: 'true' })
  const { stdout, child, exit } = spawnServe(bySetting, ['-p', root])
  await waitFor('the server', () => stdout().includes('ANALYZER_READY'))
  expect((await bySetting.json<Status>('status', '-p', root)).watch).toBeDefined()
  // Watching keeps no process alive.
  child.kill('SIGTERM')
  expect(await exit).toBe(0)
})
