import { mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { run } from '../../../../src/lib/process/run.ts'
import { SPARSE_FILES, writeSparseFile } from '../../../support/files/sparse-file.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { BusyBoxBackend } from '../../../support/workspace/backend/busybox-backend.ts'
import { cliServer } from '../../../support/workspace/client/cli-server.ts'
import { CLI, userEnvironment, workspaceCli } from '../../../support/workspace/client/workspace-cli.ts'
import { makeWorkspace, startWorkspaceServer } from '../../../support/workspace/server/test-server.ts'

const { environment, cli } = cliServer('dev')
const LARGE = 'large volume'
const LARGE_BYTES = 256 * 2 ** 20

/** Creates sparse files of each kind; returns their contents and the sum of their data. */
function makeTree(root: string) {
  mkdirSync(root)
  const contents = new Map<string, Buffer>([['full', Buffer.alloc(100_000, 'full')]])
  writeFileSync(join(root, 'full'), contents.get('full') ?? '')
  for (const [kind, layout] of Object.entries(SPARSE_FILES))
    contents.set(kind, writeSparseFile(join(root, kind), layout))
  const extents = Object.values(SPARSE_FILES).flatMap((layout) => layout.extents)
  return { contents, dataBytes: extents.reduce((sum, { length }) => sum + length, 100_000) }
}

function expectTree(root: string, contents: ReadonlyMap<string, Buffer>): void {
  for (const [name, content] of contents) {
    const path = join(root, name)
    expect([name, readFileSync(path).equals(content)]).toEqual([name, true])
  }
}

const blocksOf = (root: string, names: Iterable<string>): number =>
  [...names].reduce((sum, name) => sum + 512 * statSync(join(root, name)).blocks, 0)

test('cp sends the data of sparse files in both directions, and restores their holes', async () => {
  const [tree, back] = [join(tempDir(), 'tree'), join(tempDir(), 'back')]
  const { contents, dataBytes } = makeTree(tree)
  writeFileSync(join(tree, LARGE), 'start')
  truncateSync(join(tree, LARGE), LARGE_BYTES)
  const names = [...contents.keys(), LARGE]
  const there = await cli('cp', tree, 'dev:copy')
  expect([there.status, there.stderr]).toEqual([0, ''])
  expect(JSON.parse(there.stdout).bytes).toBeLessThanOrEqual(dataBytes + 4096)

  const here = await cli('cp', 'dev:copy', back)
  expect([here.status, here.stderr]).toEqual([0, ''])
  expect(JSON.parse(here.stdout).bytes).toBeLessThanOrEqual(dataBytes + 4096)
  expectTree(back, contents)
  expect(statSync(join(back, LARGE)).size).toBe(LARGE_BYTES)
  expect(blocksOf(back, names)).toBeLessThan(dataBytes + 16 * 1024 * names.length)
})

test('an archive on standard output has the data of sparse files', { tags: ['long'] }, async () => {
  const tree = join(tempDir(), 'tree')
  const { contents, dataBytes } = makeTree(tree)
  expect(await cli('cp', tree, 'dev:packed')).toMatchObject({ status: 0, stderr: '' })
  const into = tempDir()
  const workspace = CLI.map((word) => `'${word}'`).join(' ')
  const line = `${workspace} cp dev:packed - | tee '${into}/archive' | tar -C '${into}' -xf -`
  expect(await run('sh', ['-c', line], { environment: environment() })).toMatchObject({ status: 0 })
  expectTree(join(into, 'packed'), contents)
  expect(statSync(join(into, 'archive')).size).toBeLessThan(dataBytes + 2048 * contents.size + 10_240)
})

test('an image with the tar of BusyBox gets and sends the zeros', { tags: ['long'] }, async () => {
  const { url, stop } = await startWorkspaceServer({ backends: () => [new BusyBoxBackend()] })
  onTestFinished(stop)
  await makeWorkspace(url, { name: 'small' })
  const own = userEnvironment({ WORKSPACE_URL: url })
  const [tree, back] = [join(tempDir(), 'tree'), join(tempDir(), 'back')]
  const { contents } = makeTree(tree)
  for (const argv of [
    [tree, 'small:copy'],
    ['small:copy', back],
  ])
    expect(await workspaceCli(['cp', ...argv], own)).toMatchObject({ status: 0, stderr: '' })
  expectTree(back, contents)
})
