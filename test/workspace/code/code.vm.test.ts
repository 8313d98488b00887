import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CodeOptions, connect, type Workspace } from '../../../src/workspace/client/sdk/connect.ts'
import { uniqueName } from '../../support/engine/docker.ts'
import { machineRoots, qemuBackend } from '../../support/vm/vm-server.ts'
import { startWorkspaceServer, type TestServer } from '../../support/workspace/server/test-server.ts'

const roots = machineRoots()
let server: TestServer
let workspace: Workspace
beforeAll(async () => {
  const qemu = await qemuBackend(roots)
  server = await startWorkspaceServer({ backends: () => [qemu], settings: { default_backend: 'qemu' } })
  workspace = await connect({ url: server.url }).create({ name: uniqueName('code') })
})
afterAll(async () => {
  await workspace.delete()
  await server.stop()
  roots.remove()
})

test('code runs in a machine, keeps its state, and is interrupted', async () => {
  // The agent's own.
  await workspace.exec('ln -s /opt/workspace/node /usr/local/bin/node', { user: 'root' })
  const run = (code: string, options: CodeOptions = {}) =>
    workspace.code.run(code, { language: 'javascript', ...options })
  expect(await run('const x = [1]; console.log("out"); console.error("err"); x')).toMatchObject({
    stdout: 'out\n',
    stderr: 'err\n',
    results: [{ data: { 'application/json': '[1]' } }],
  })
  for (const code of ['while (true) {}', 'await new Promise(() => {})'])
    expect(await run(code, { timeoutMs: 1_000 })).toMatchObject({
      timedOut: true,
      error: { name: 'Interrupted' },
    })
  expect(await run('x[0] + 1')).toMatchObject({ results: [{ data: { 'text/plain': '2' } }] })
  expect(await workspace.code.contexts()).toHaveLength(1)
  await expect(workspace.code.run('1')).rejects.toMatchObject({ code: 'INTERPRETER_MISSING' })
})

test('a directory is copied as an archive, with links and modes', async () => {
  await workspace.exec(
    'mkdir -p from/a && cd from && echo x > a/file && chmod 4750 a/file && ln -s a/file link',
  )
  await workspace.files.uploadArchive('to', workspace.files.downloadArchive('from'), { createParents: true })
  const { stdout } = await workspace.exec('cd to && stat -c "%a %N" a/file link && cat link')
  expect(stdout).toBe("4750 'a/file'\n777 'link' -> 'a/file'\nx\n")
})
