import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { versionOf } from '../../../support/foreign/clients.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { type DockerSsh, dockerSsh } from '../../../support/workspace/ssh/docker-ssh.ts'
import { runProgram } from '../../../support/workspace/ssh/open-ssh.ts'

let workspace: DockerSsh

beforeAll(async () => {
  workspace = await dockerSsh()
})
afterAll(() => workspace.remove())

describe(`libssh2 ${versionOf(['curl', '-V'], /libssh2\/([\d.]+)/)} in curl`, () => {
  test.each(['sftp', 'scp'])('%s: a file there and back', async (protocol) => {
    const { ssh, server, name } = workspace
    const directory = tempDir()
    const [file, back] = [join(directory, 'data'), join(directory, 'back')]
    writeFileSync(file, randomBytes(5_000_000))
    const hosts = join(directory, '.ssh-known-hosts')
    writeFileSync(hosts, readFileSync(ssh.knownHosts))
    const url = `${protocol}://127.0.0.1:${server.sshPort}/workspace/libssh2-${protocol}`
    const keys = [
      '--key',
      ssh.keyFile,
      '--pubkey',
      `${ssh.keyFile}.pub`,
      '--hostpubsha256',
      await fingerprint(),
    ]
    const curl = (...argv: readonly string[]) =>
      runProgram('curl', ['-sS', '-u', `${name}:`, ...keys, ...argv, url], '', { HOME: directory })
    expect(await curl('-T', file)).toMatchObject({ status: 0, stderr: '' })
    expect(await curl('-o', back)).toMatchObject({ status: 0, stderr: '' })
    expect(readFileSync(back).equals(readFileSync(file))).toBe(true)
  })
})

/** Returns the host key's fingerprint in curl's form. */
async function fingerprint(): Promise<string> {
  const { stdout } = await runProgram('ssh-keygen', ['-lf', workspace.ssh.knownHosts])
  return stdout.toString().split(' ')[1]?.replace('SHA256:', '') ?? ''
}
