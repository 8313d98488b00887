import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { tempDir } from '../../../../support/temp-dir.ts'
import { FakeBackend } from '../../../../support/workspace/backend/fake-backend.ts'
import { makeSandbox } from '../../../../support/workspace/client/e2b-client.ts'
import { call, startWorkspaceServer } from '../../../../support/workspace/server/test-server.ts'

const TOKEN = 'the-token'
const FILES = '/workspace/signed'

test('a signed URL admits the bytes of its path only, and answers show them as text', async () => {
  const tokenFile = join(tempDir(), 'token')
  writeFileSync(tokenFile, TOKEN)
  const server = await startWorkspaceServer({
    backends: () => [new FakeBackend()],
    settings: { e2b: { enabled: true }, http: { token_file: tokenFile } },
  })
  onTestFinished(() => server.stop())
  const sandbox = await makeSandbox(server.url, {}, TOKEN)
  const sandboxId = { 'e2b-sandbox-id': sandbox['e2b-sandbox-id'] ?? '' }
  const urlOf = (query: string) => `${server.url}/e2b/files?${query}`
  /** Names in one file each, written with their bytes. */
  const names = ['caf%E9', 'caf%EA', encodeURIComponent('caf\uFFFD'), 'caf%25E9']
  for (const name of names) {
    const { status, body } = await call(urlOf(`path=${FILES}/${name}`), 'POST', name, {
      ...sandbox,
      'content-type': 'application/octet-stream',
    })
    expect(status).toBe(200)
    const shown = Buffer.from(unescaped(name), 'latin1').toString()
    expect(body).toEqual([{ name: shown, type: 'file', path: `${FILES}/${shown}` }])
  }
  for (const signed of names) {
    const parts = [`${FILES}/${unescaped(signed)}`, 'read', '', sandbox['x-access-token']]
    const digest = createHash('sha256')
      .update(Buffer.from(parts.join(':'), 'latin1'))
      .digest('base64')
    const signature = encodeURIComponent(`v1_${digest.replace(/=+$/, '')}`)
    for (const name of names) {
      const { status } = await fetch(urlOf(`path=${FILES}/${name}&signature=${signature}`), {
        headers: sandboxId,
      })
      expect([signed, name, status]).toEqual([signed, name, name === signed ? 200 : 401])
    }
  }
  const { body } = await call(
    `${server.url}/e2b/filesystem.Filesystem/ListDir`,
    'POST',
    { path: FILES },
    sandbox,
  )
  const listed = (body.entries as readonly { name: string; path: string }[]).map(({ path }) => path)
  expect(listed.toSorted()).toEqual([`${FILES}/caf%E9`, ...Array(3).fill(`${FILES}/caf\uFFFD`)])
})

function unescaped(text: string): string {
  return text.replaceAll(/%(..)/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
}
