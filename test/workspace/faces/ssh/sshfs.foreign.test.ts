import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { versionOf } from '../../../support/foreign/clients.ts'
import { makeTempDir } from '../../../support/temp-dir.ts'
import { type DockerSsh, dockerSsh } from '../../../support/workspace/ssh/docker-ssh.ts'
import { runProgram } from '../../../support/workspace/ssh/open-ssh.ts'

const temporary = makeTempDir()
let workspace: DockerSsh
let mounted: string

beforeAll(async () => {
  workspace = await dockerSsh()
  mounted = temporary.path
  const { ssh, name } = workspace
  const argv = [
    `${name}@127.0.0.1:/workspace`,
    mounted,
    ...ssh.options.filter((word) => word !== '-i' && word !== ssh.keyFile),
  ]
  const { status, stderr } = await runProgram('sshfs', [...argv, '-o', `IdentityFile=${ssh.keyFile}`])
  if (status !== 0) throw new Error(stderr)
})
afterAll(async () => {
  execFileSync('fusermount3', ['-u', mounted])
  temporary.remove()
  await workspace.remove()
})

describe(`sshfs ${versionOf(['sshfs', '-V'], /SSHFS version ([\d.]+)/)}`, () => {
  test('a file is written and read', async () => {
    const content = randomBytes(5_000_000)
    writeFileSync(join(mounted, 'data'), content)
    expect(readFileSync(join(mounted, 'data')).equals(content)).toBe(true)
    expect(await workspace.inside('stat -c %s data')).toBe('5000000\n')
  })

  test('folders, links, modes, renames and removals', async () => {
    mkdirSync(join(mounted, 'folder/inner'), { recursive: true })
    writeFileSync(join(mounted, 'folder/ünï code'), 'text')
    chmodSync(join(mounted, 'folder/ünï code'), 0o750)
    symlinkSync('ünï code', join(mounted, 'folder/link'))
    renameSync(join(mounted, 'folder/inner'), join(mounted, 'folder/moved'))
    expect(readdirSync(join(mounted, 'folder')).toSorted()).toEqual(['link', 'moved', 'ünï code'])
    expect(readlinkSync(join(mounted, 'folder/link'))).toBe('ünï code')
    expect(statSync(join(mounted, 'folder/ünï code')).mode & 0o777).toBe(0o750)
    rmSync(join(mounted, 'folder'), { recursive: true })
    expect(existsSync(join(mounted, 'folder'))).toBe(false)
    expect(await workspace.inside('ls -d folder || true')).toBe('')
  })

  test('1,000 small files', async () => {
    mkdirSync(join(mounted, 'many'))
    for (let n = 0; n < 1_000; n++) writeFileSync(join(mounted, 'many', String(n)), String(n))
    expect(await workspace.inside('cat many/* | wc -c')).toBe('2890\n')
  })
})
