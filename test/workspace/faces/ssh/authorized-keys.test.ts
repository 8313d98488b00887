import { appendFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { dockerSsh } from '../../../support/workspace/ssh/docker-ssh.ts'
import { makeKey, publicKey } from '../../../support/workspace/ssh/open-ssh.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { sample } from '../../../support/rounds.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { startWorkspaceServer } from '../../../support/workspace/server/test-server.ts'

test.each(sample([1, 0], 2))(
  'with %i worker processes only keys currently listed in the file log in',
  async (processes) => {
    const directory = tempDir()
    const file = join(directory, 'keys')
    writeFileSync(file, '# nobody yet\n\n')
    const workspace = await dockerSsh({ authorized_keys: file, processes })
    onTestFinished(() => workspace.remove())
    const other = makeKey(directory, 'ecdsa')
    const login = async (keyFile: string) =>
      (await workspace.ssh.run(workspace.name, 'exit 7', { flags: ['-i', keyFile] })).status
    const own = workspace.ssh.keyFile

    expect(await login(own)).toBe(255)
    appendFileSync(file, `${publicKey(own)}\n`)
    expect(await login(own)).toBe(7)
    appendFileSync(file, `${publicKey(other)}\n`)
    writeFileSync(file, `${publicKey(other)}\n`)
    expect(await login(own)).toBe(255)
    appendFileSync(file, `${publicKey(own)}\n`)
    expect(await login(own)).toBe(7)
    // A line that cannot be honored does not affect the others.
    writeFileSync(file, `from="10.0.0.1" ${publicKey(own)}\n${publicKey(other)}\nhello\n`)
    expect(await login(own)).toBe(255)
    expect(await login(other)).toBe(7)
    rmSync(file)
    expect(await login(other)).toBe(255)
    const log = workspace.server.log()
    expect(log).toContain(`SSH key refused: ${file} line 1 is ignored: options (from) are not supported`)
    expect(log).toContain('SSH key refused: cannot read ssh.authorized_keys')
    expect(log).not.toContain('the signature is invalid')
  },
)

test('a server starts with a file with unusable lines, and names each', async () => {
  const directory = tempDir()
  const file = join(directory, 'keys')
  writeFileSync(file, `restrict ssh-ed25519 AAAA\n${publicKey(makeKey(directory, 'ed25519'))}\nhello\n`)
  const server = await startWorkspaceServer({
    backends: () => [new FakeBackend()],
    settings: { ssh: { authorized_keys: file } },
  })
  onTestFinished(() => server.stop())
  const warnings = server
    .log()
    .split('\n')
    .filter((line) => line.includes('ssh.authorized_keys'))
    .map((line) => JSON.parse(line) as { level: number; msg: string })
  expect(warnings).toMatchObject([
    { level: 40, msg: expect.stringContaining(`${file} line 1 is ignored: options (restrict)`) },
    { level: 40, msg: expect.stringContaining(`${file} line 3 is ignored: it is not a line such as`) },
  ])
})

test('a server does not start with a missing file', async () => {
  const file = join(tempDir(), 'absent')
  const start = startWorkspaceServer({ stateDir: tempDir(), settings: { ssh: { authorized_keys: file } } })
  await expect(start).rejects.toMatchObject({ code: 'AUTHORIZED_KEYS_UNUSABLE' })
})
