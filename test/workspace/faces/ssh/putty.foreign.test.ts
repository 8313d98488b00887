import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { versionOf } from '../../../support/foreign/clients.ts'
import { makeTempDir } from '../../../support/temp-dir.ts'
import { type DockerSsh, dockerSsh } from '../../../support/workspace/ssh/docker-ssh.ts'
import { runProgram } from '../../../support/workspace/ssh/open-ssh.ts'

const temporary = makeTempDir()
let workspace: DockerSsh
let options: readonly string[]
let home: string

beforeAll(async () => {
  workspace = await dockerSsh()
  home = temporary.path
  const { ssh, server } = workspace
  const fingerprint =
    execFileSync('ssh-keygen', ['-lf', ssh.knownHosts], { encoding: 'utf8' }).split(' ')[1] ?? ''
  const key = join(home, 'key.ppk')
  execFileSync('puttygen', [ssh.keyFile, '-O', 'private', '-o', key])
  options = ['-batch', '-P', String(server.sshPort), '-hostkey', fingerprint, '-i', key]
})
afterAll(async () => {
  temporary.remove()
  await workspace.remove()
})

const putty = (program: string, argv: readonly string[], stdin: string | Buffer = '') =>
  runProgram(program, [...options, ...argv], stdin, { HOME: home })

describe(`PuTTY ${versionOf(['plink', '-V'])}`, () => {
  test('plink: output, errors and status', async () => {
    const { status, stdout, stderr } = await putty('plink', [
      '-ssh',
      `${workspace.name}@127.0.0.1`,
      'printf out; printf err >&2; exit 7',
    ])
    expect([status, stdout.toString(), stderr]).toEqual([7, 'out', 'err'])
  })

  test('plink: 5 MB of input', async () => {
    const content = randomBytes(5_000_000)
    const { status, stdout } = await putty('plink', ['-ssh', `${workspace.name}@127.0.0.1`, 'cat'], content)
    expect([status, stdout.equals(content)]).toEqual([0, true])
  })

  test.each(['-scp', '-sftp'])('pscp %s: a file there and back', async (protocol) => {
    const [file, back] = [join(home, 'data'), join(home, `back${protocol}`)]
    writeFileSync(file, randomBytes(5_000_000))
    const there = `${workspace.name}@127.0.0.1:pscp`
    expect(await putty('pscp', ['-q', protocol, file, there])).toMatchObject({ status: 0 })
    expect(await putty('pscp', ['-q', protocol, there, back])).toMatchObject({ status: 0 })
    expect(readFileSync(back).equals(readFileSync(file))).toBe(true)
  })

  test('psftp: put, rename, list, get and remove', async () => {
    const [file, back] = [join(home, 'sent'), join(home, 'received')]
    writeFileSync(file, randomBytes(5_000_000))
    const commands = [
      `put "${file}" "psftp file"`,
      'mv "psftp file" moved',
      'ls mov*',
      `get moved "${back}"`,
      'rm moved',
      'quit',
    ]
    const batch = join(home, 'batch')
    writeFileSync(batch, `${commands.join('\n')}\n`)
    const { status, stdout } = await putty('psftp', ['-b', batch, `${workspace.name}@127.0.0.1`])
    expect([status, stdout.toString()]).toEqual([0, expect.stringMatching(/-rw[^\n]* 5000000 [^\n]* moved/)])
    expect(readFileSync(back).equals(readFileSync(file))).toBe(true)
  })
})
