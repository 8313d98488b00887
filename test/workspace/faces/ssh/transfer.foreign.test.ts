import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DockerSsh, dockerSsh } from '../../../support/workspace/ssh/docker-ssh.ts'
import { runProgram } from '../../../support/workspace/ssh/open-ssh.ts'
import { tempDir } from '../../../support/temp-dir.ts'

const ODD_NAMES = [
  'a b',
  "it's",
  'ünï',
  '*?[x]',
  '-dash',
  '$(id)',
  'back\\slash',
  '"quoted"',
  'two\nlines',
  '#',
]

let workspace: DockerSsh

beforeAll(async () => {
  workspace = await dockerSsh()
})
afterAll(() => workspace.remove())

const sha256 = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex')
const sha256Inside = async (file: string) => (await workspace.inside(`sha256sum ${file}`)).slice(0, 64)

/** Runs sftp commands in order and stops at the first failure. */
const sftp = (...commands: readonly string[]) =>
  workspace.client('sftp', ['-b', '-', '{}'], `${commands.join('\n')}\n`)
const sftpDone = async (...commands: readonly string[]): Promise<string> => {
  const { status, stdout, stderr } = await sftp(...commands)
  expect([status, stderr]).toEqual([0, ''])
  return stdout.toString()
}

/** Returns every entry of a directory: name, type, mode, link target, content. */
const MANIFEST = `find . -mindepth 1 -printf '%P %y %m %l\\0' | LC_ALL=C sort -z | tr '\\0' '\\n'; find . -type f -print0 | LC_ALL=C sort -z | xargs -0r sha256sum`
const manifest = (directory: string) =>
  execFileSync('bash', ['-c', MANIFEST], { cwd: directory, encoding: 'utf8', maxBuffer: 2 ** 26 })
const manifestInside = (directory: string) => workspace.inside(`cd ${directory} && ${MANIFEST}`)

/** Creates a tree of `count` small files, some executable or private, optionally with links. */
function makeTree(count: number, hasLinks: boolean): string {
  const root = tempDir()
  for (let i = 0; i < count; i++) {
    const directory = join(root, `d${i % 50}`, `e${i % 7}`)
    mkdirSync(directory, { recursive: true })
    const file = join(directory, `f${i}`)
    writeFileSync(file, randomBytes(i % 3000))
    chmodSync(file, [0o644, 0o755, 0o600, 0o444][i % 4] ?? 0)
    if (!hasLinks || i % 100 !== 0) continue
    symlinkSync(`../../d0/nowhere ${i}`, join(directory, `symbolic ${i}`))
    linkSync(file, join(directory, `hard ${i}`))
  }
  mkdirSync(join(root, 'empty'), { mode: 0o700 })
  // The legacy scp protocol is line-based.
  const names = hasLinks ? ODD_NAMES : ODD_NAMES.filter((name) => !name.includes('\n'))
  for (const name of names) writeFileSync(join(root, name), name)
  return root
}

test('sftp puts and gets 100 MB unchanged', async () => {
  const directory = tempDir()
  const [file, back] = [join(directory, 'data'), join(directory, 'back')]
  writeFileSync(file, randomBytes(100_000_000))
  await sftpDone(`put ${file} big`, `get big ${back}`)
  expect([await sha256Inside('big'), sha256(back)]).toEqual([sha256(file), sha256(file)])
})

test('sftp resumes an interrupted put or get', async () => {
  const directory = tempDir()
  const [file, back] = [join(directory, 'data'), join(directory, 'back')]
  writeFileSync(file, randomBytes(20_000_000))
  await sftpDone(`put ${file} partial`, `get partial ${back}`)
  await workspace.inside('truncate -s 7654321 partial')
  truncateSync(back, 1_234_567)
  await sftpDone(`reput ${file} partial`, `reget partial ${back}`)
  expect([await sha256Inside('partial'), sha256(back)]).toEqual([sha256(file), sha256(file)])
})

test('sftp creates, renames, links, lists and removes', async () => {
  await workspace.inside('rm -rf sftp && mkdir sftp && echo one >sftp/file')
  const listing = await sftpDone(
    'cd sftp',
    'mkdir sub',
    'rename file sub/moved',
    'ln -s sub/moved symbolic',
    'ln sub/moved hard',
    'chmod 751 sub/moved',
    'mkdir gone',
    'rmdir gone',
    'ls -1',
  )
  expect(listing).toMatch(/hard\nsub\nsymbolic\n/)
  expect(await workspace.inside('cd sftp && stat -c "%a %h" sub/moved && readlink symbolic && ls')).toBe(
    '751 2\nsub/moved\nhard\nsub\nsymbolic\n',
  )
  expect(await sftpDone('df -h /workspace')).toMatch(/Avail[\s\S]*%/)
  const failed = await sftp('get nowhere')
  expect([failed.status, failed.stderr]).toEqual([1, expect.stringContaining('not found')])
})

test('sftp lists unusual names unchanged', async () => {
  // The client doubles backslashes and shows a newline as a question mark.
  const names = ODD_NAMES.filter((name) => !/[\\\n]/.test(name))
  await workspace.inside('rm -rf odd && mkdir odd && cd odd && xargs -0 touch --', `${names.join('\0')}\0`)
  const listed = (await sftpDone('cd odd', 'ls -1'))
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('sftp>'))
  expect(listed.toSorted()).toEqual(names.toSorted())
})

test.each([
  { protocol: 'sftp', flags: [] },
  { protocol: 'old', flags: ['-O'] },
])('scp over its $protocol protocol copies a tree in both directions', async ({ protocol, flags }) => {
  const tree = makeTree(200, false)
  const back = tempDir()
  const there = `scp-${protocol}`
  const up = await workspace.client('scp', [...flags, '-rpq', tree, `{}:${there}`])
  expect(up).toMatchObject({ status: 0, stderr: '' })
  expect(await manifestInside(there)).toBe(manifest(tree))
  const down = await workspace.client('scp', [...flags, '-rpq', `{}:${there}`, back])
  expect(down).toMatchObject({ status: 0, stderr: '' })
  expect(manifest(join(back, there))).toBe(manifest(tree))
})

test('rsync copies 5,000 files with links and modes in both directions, and nothing the second time', async () => {
  const tree = makeTree(5_000, true)
  const back = tempDir()
  const rsync = async (from: string, to: string) => {
    const { status, stdout, stderr } = await workspace.client('rsync', ['-aHi', '--delete', from, to])
    expect([status, stderr]).toEqual([0, ''])
    return stdout.toString().split('\n').length - 1
  }
  expect(await rsync(`${tree}/`, '{}:rsync/')).toBeGreaterThan(5_000)
  expect(await rsync(`${tree}/`, '{}:rsync/')).toBe(0)
  expect(await manifestInside('rsync')).toBe(manifest(tree))
  expect(await rsync('{}:rsync/', `${back}/`)).toBeGreaterThan(5_000)
  expect(await rsync('{}:rsync/', `${back}/`)).toBe(0)
  expect(manifest(back)).toBe(manifest(tree))
})

test('git pushes to and clones from a repository in the workspace', async () => {
  const directory = tempDir()
  const git = async (...argv: readonly string[]): Promise<void> => {
    const words = ['-C', directory, '-c', 'user.name=t', '-c', 'user.email=t@example.com', ...argv]
    const environment = { GIT_SSH_COMMAND: `ssh ${workspace.ssh.options.join(' ')}` }
    const { status, stderr } = await runProgram('git', words, '', environment)
    expect([status, stderr]).toEqual([0, expect.not.stringMatching(/error|fatal/)])
  }
  await workspace.inside('git init -q --bare -b main repository.git')
  const url = `ssh://${workspace.name}@127.0.0.1/workspace/repository.git`
  await git('clone', '-q', url, 'first')
  writeFileSync(join(directory, 'first/file'), randomBytes(5_000_000))
  await git('-C', 'first', 'add', 'file')
  await git('-C', 'first', 'commit', '-q', '-m', 'one')
  await git('-C', 'first', 'push', '-q', 'origin', 'HEAD:main')
  await git('clone', '-q', url, 'second')
  expect(sha256(join(directory, 'second/file'))).toBe(sha256(join(directory, 'first/file')))
})

/** Returns deterministic bytes in which no two blocks are equal. */
const stream = (megabytes: number) =>
  `openssl enc -aes-128-ctr -K 00 -iv 00 -in /dev/zero 2>/dev/null | head -c ${megabytes * 2 ** 20}`

test.each([
  ['aes128-gcm@openssh.com', 128],
  ['chacha20-poly1305@openssh.com', 128],
  ['aes256-ctr', 128],
] as const)('%s with a rekey every 16 MB transfers %i MB in both directions', async (cipher, megabytes) => {
  const ssh = `ssh ${workspace.ssh.argv(workspace.name, '-o', 'RekeyLimit=16M', '-o', `Ciphers=${cipher}`).join(' ')}`
  const local = async (script: string): Promise<string> => {
    const { status, stdout, stderr } = await runProgram('bash', ['-o', 'pipefail', '-c', script])
    expect([status, stderr]).toEqual([0, ''])
    return stdout.toString().slice(0, 64)
  }
  const expected = await local(`{ ${stream(megabytes)}; true; } | sha256sum`)
  expect(await local(`{ ${stream(megabytes)}; true; } | ${ssh} sha256sum`)).toBe(expected)
  expect(await local(`${ssh} '${stream(megabytes)}' | sha256sum`)).toBe(expected)
})
