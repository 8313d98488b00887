import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { encodeTarHeader, TAR_END } from '../../../../src/lib/tar/encode-header.ts'
import { extractArchive } from '../../../../src/workspace/faces/cli/copy/extract.ts'
import { CopyMeter } from '../../../../src/workspace/faces/cli/copy/meter.ts'
import { run } from '../../../../src/lib/process/run.ts'
import { cliServer } from '../../../support/workspace/client/cli-server.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { CLI, spawnCli } from '../../../support/workspace/client/workspace-cli.ts'

const { environment, cli } = cliServer('dev')
const cp = (...argv: readonly string[]) => cli('cp', ...argv)

/** Runs a shell line with `workspace` as a function. */
function shell(line: string) {
  const program = CLI.map((word) => `'${word}'`).join(' ')
  return run('sh', ['-c', `workspace() { ${program} "$@"; }; ${line}`], { environment: environment() })
}

/** Describes a tree: by name (as bytes), its type, mode, time and the digest of its content. */
function describeTree(root: Buffer, prefix = ''): Readonly<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const name of readdirSync(root, { encoding: 'buffer' })) {
    const path = Buffer.concat([root, Buffer.from('/'), name])
    const stats = lstatSync(path)
    const key = prefix + name.toString('latin1')
    const mode = (stats.mode & 0o777).toString(8)
    const at = Math.floor(stats.mtimeMs / 1000)
    if (stats.isSymbolicLink()) found[key] = `link ${readlinkSync(path)}`
    else if (stats.isDirectory()) {
      found[key] = `directory ${mode} ${at}`
      Object.assign(found, describeTree(path, `${key}/`))
    } else found[key] = `file ${mode} ${at} ${createHash('sha256').update(readFileSync(path)).digest('hex')}`
  }
  return found
}

/** Creates a tree with odd names, modes, links, and large and sparse files. */
function oddTree(): string {
  const root = join(tempDir(), 'tree')
  mkdirSync(join(root, 'empty'), { recursive: true })
  const names = [
    '-rf',
    ' leading and trailing ',
    'new\nline',
    'quo\'te"$HOME`id`\\',
    '*',
    'ünïcödé 日本',
    'n'.repeat(255),
    `${'d'.repeat(150)}/${'e'.repeat(150)}`,
  ]
  for (const name of names) {
    mkdirSync(join(root, name, '..'), { recursive: true })
    writeFileSync(join(root, name), randomBytes(1000))
  }
  writeFileSync(Buffer.concat([Buffer.from(`${root}/invalid `), Buffer.from([0xff, 0xfe])]), 'bytes')
  writeFileSync(join(root, 'large'), randomBytes(20 * 1024 * 1024 + 7))
  writeFileSync(join(root, 'sparse'), 'start')
  truncateSync(join(root, 'sparse'), 64 * 1024 * 1024)
  writeFileSync(join(root, 'script'), '#!/bin/sh\n')
  chmodSync(join(root, 'script'), 0o751)
  symlinkSync('../elsewhere', join(root, 'link'))
  chmodSync(join(root, 'empty'), 0o550)
  for (const name of ['large', 'empty']) utimesSync(join(root, name), 1_000_000_000, 1_000_000_000)
  return root
}

test('cp keeps names, contents, modes, times and links in both directions', { tags: ['long'] }, async () => {
  const tree = oddTree()
  const before = describeTree(Buffer.from(tree))
  const there = await cp(tree, 'dev:copy')
  expect([there.status, there.stderr]).toEqual([0, ''])
  expect(JSON.parse(there.stdout)).toMatchObject({ target: 'dev:copy', files: 13, skipped: 0 })
  const back = join(tempDir(), 'back')
  const here = await cp('dev:copy', back)
  expect([here.status, here.stderr]).toEqual([0, ''])
  expect(describeTree(Buffer.from(back))).toEqual(before)
  expect(lstatSync(join(back, 'sparse')).blocks * 512).toBeLessThan(1024 * 1024)
})

test('cp places a source like the local cp', { tags: ['long'] }, async () => {
  const root = tempDir()
  mkdirSync(join(root, 'src/sub'), { recursive: true })
  writeFileSync(join(root, 'src/sub/file'), 'one')
  const inside = async (line: string) => (await cli('exec', 'dev', 'sh', '-c', line)).stdout
  const ok = async (...argv: readonly string[]) =>
    expect(await cp(...argv)).toMatchObject({ status: 0, stderr: '' })

  await inside('mkdir -p place/into')
  await ok(join(root, 'src/sub/file'), 'dev:place/renamed')
  await ok(join(root, 'src/sub/file'), 'dev:place/into')
  await ok(join(root, 'src'), 'dev:place/new')
  await ok(`${root}/src/`, 'dev:place/into/')
  await ok(`${root}/src/.`, 'dev:place/into')
  expect((await inside('cd place && find . -type f | sort')).split('\n').slice(0, -1)).toEqual([
    './into/file',
    './into/src/sub/file',
    './into/sub/file',
    './new/sub/file',
    './renamed',
  ])

  mkdirSync(join(root, 'into'))
  await ok('dev:place/renamed', join(root, 'other'))
  await ok('dev:place/renamed', join(root, 'into'))
  await ok('dev:place/new', join(root, 'into'))
  await ok('dev:place/new', join(root, 'fresh'))
  await ok('dev:place/new/.', join(root, 'into'))
  const local = execFileSync('sh', ['-c', 'find into fresh other -type f | sort'], {
    cwd: root,
    encoding: 'utf8',
  })
  expect(local.split('\n').slice(0, -1)).toEqual([
    'fresh/sub/file',
    'into/new/sub/file',
    'into/renamed',
    'into/sub/file',
    'other',
  ])
  await ok(join(root, 'src/sub/file'), 'dev:place/renamed')
})

test('cp streams tar archives in both directions', async () => {
  const root = tempDir()
  writeFileSync(join(root, 'f'), 'through a pipe')
  const { status, stdout, stderr } = await shell(
    `tar -C '${root}' -cf - f | workspace cp - dev:. && workspace cp dev:f - | tar -xOf - ./f`,
  )
  expect([status, stderr]).toEqual([0, ''])
  expect(stdout).toContain('through a pipe')
})

test.each([
  [['a', 'b'], 2, 'one of source and target must be in a workspace'],
  [['dev:a', 'dev:b'], 2, 'copying between two workspaces takes two steps'],
  [['missing', 'dev:'], 2, 'cannot read missing: ENOENT'],
  [['dev:missing', 'x'], 1, './missing: No such file or directory'],
  [['dev:missing/', 'x'], 1, './missing: No such file or directory'],
  [['package.json', 'dev:no/such/dir/'], 1, 'no/such/dir/: the directory does not exist'],
  [['package.json', 'nope:'], 1, 'workspace "nope" does not exist'],
])('cp %j exits with %i and explains why', async (argv, status, message) => {
  const done = await cp(...argv)
  expect([done.status, done.stdout]).toEqual([status, ''])
  expect(done.stderr).toContain(message)
  expect(done.stderr.trim().split('\n')).toHaveLength(1)
})

test('an interrupted cp exits with 130 and leaves no temporary file', { tags: ['long'] }, async () => {
  await cli('exec', 'dev', 'sh', '-c', 'head -c 400000000 /dev/zero > endless')
  const target = tempDir()
  const { child, exit } = spawnCli(['cp', 'dev:endless', `${target}/`], environment())
  await expect.poll(() => readdirSync(target)).toEqual([expect.stringMatching(/\.tmp$/)])
  child.kill('SIGINT')
  expect(await exit).toBe(130)
  expect(readdirSync(target)).toEqual([])
  await cli('exec', 'dev', 'rm', 'endless')
})

test('cp reports special files that it skips', async () => {
  const root = tempDir()
  execFileSync('mkfifo', [join(root, 'fifo')])
  const there = await cp(root, 'dev:special')
  expect([there.status, there.stderr]).toEqual([0, 'workspace: skipped 1 device, FIFO or socket\n'])
})

const FILE = { type: 'file', mode: 0o644, size: 0, mtimeMs: 0, linkPath: '' } as const
const DIRECTORY = { ...FILE, type: 'directory' } as const

/** Extracts what a hostile workspace could send instead of directory `src`. */
async function extract(...parts: readonly (Parameters<typeof encodeTarHeader>[0] | Buffer)[]) {
  const outer = tempDir()
  writeFileSync(join(outer, 'outside'), 'untouched')
  const archive = [...parts.map((part) => (Buffer.isBuffer(part) ? part : encodeTarHeader(part))), TAR_END]
  const error = await extractArchive(
    (async function* () {
      yield Buffer.concat(archive)
    })(),
    'src',
    join(outer, 'target'),
    new CopyMeter(),
  ).then(
    () => undefined,
    (thrown: Error) => thrown.message,
  )
  expect(readFileSync(join(outer, 'outside'), 'utf8')).toBe('untouched')
  expect(readdirSync(outer).filter((name) => name !== 'target')).toEqual(['outside'])
  return { error, target: join(outer, 'target') }
}

test.each([
  ['a parent directory', [{ ...FILE, path: './src/../../outside' }]],
  ['an absolute name', [{ ...FILE, path: '/etc/outside' }]],
  ['another name than the source', [{ ...FILE, path: './other' }]],
  ['a name that only starts like the source', [{ ...FILE, path: './srcs/x' }]],
  [
    'a link to a directory outside, then a file in it',
    [
      { ...FILE, type: 'link' as const, path: './src/up', linkPath: '../..' },
      { ...FILE, path: './src/up/outside' },
    ],
  ],
  [
    'a hard link to a file outside',
    [{ ...FILE, type: 'hardlink' as const, path: './src/h', linkPath: './src/../../outside' }],
  ],
  [
    'a hard link through a link',
    [
      { ...FILE, type: 'link' as const, path: './src/up', linkPath: '../..' },
      { ...FILE, type: 'hardlink' as const, path: './src/h', linkPath: './src/up/outside' },
    ],
  ],
])('an archive with %s is refused and changes nothing outside', async (_case, entries) => {
  const { error } = await extract({ ...DIRECTORY, path: './src/' }, ...entries)
  expect(error).toMatch(/outside|ENOTDIR|not a directory|symbolic/)
})

test('a file that follows a link of the same name replaces the link', async () => {
  const { error, target } = await extract(
    { ...DIRECTORY, path: './src/' },
    { ...FILE, type: 'link', path: './src/f', linkPath: '../outside' },
    { ...FILE, path: './src/f', size: 4 },
    Buffer.concat([Buffer.from('evil'), Buffer.alloc(508)]),
  )
  expect(error).toBeUndefined()
  expect(readFileSync(join(target, 'f'), 'utf8')).toBe('evil')
})

test('a second top entry cannot replace the target of a single file', async () => {
  const { error, target } = await extract({ ...FILE, path: './src' }, { ...FILE, path: './src/below' })
  expect(error).toContain('cannot create "./src/below"')
  expect(existsSync(target)).toBe(true)
})
