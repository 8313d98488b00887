import { appendFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { dockerSsh } from '../../../support/workspace/ssh/docker-ssh.ts'
import { makeKey, publicKey } from '../../../support/workspace/ssh/open-ssh.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { startWorkspaceServer } from '../../../support/workspace/server/test-server.ts'

test.each([0, 1])(
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
    // A damaged file refuses every key, including those before the damage.
    appendFileSync(file, 'from="10.0.0.1" ssh-ed25519 AAAA\n')
    expect(await login(own)).toBe(255)
    rmSync(file)
    expect(await login(own)).toBe(255)
  },
)

test.each([
  ['options', 'restrict ssh-ed25519 AAAA', /keys line 2 is not a plain/],
  ['no key', 'hello', /keys line 2 is not a plain/],
])('a server does not start with a file with %s', async (_what, line, message) => {
  const directory = tempDir()
  const file = join(directory, 'keys')
  writeFileSync(file, `${publicKey(makeKey(directory, 'ed25519'))}\n${line}\n`)
  const start = startWorkspaceServer({ stateDir: tempDir(), settings: { ssh: { authorized_keys: file } } })
  await expect(start).rejects.toMatchObject({
    code: 'AUTHORIZED_KEYS_UNUSABLE',
    message: expect.stringMatching(message),
  })
})

test('a server does not start with a missing file', async () => {
  const file = join(tempDir(), 'absent')
  const start = startWorkspaceServer({ stateDir: tempDir(), settings: { ssh: { authorized_keys: file } } })
  await expect(start).rejects.toMatchObject({ code: 'AUTHORIZED_KEYS_UNUSABLE' })
})
