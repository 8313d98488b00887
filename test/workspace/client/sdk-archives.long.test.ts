import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { connect, type Workspace } from '../../../src/workspace/client/sdk/connect.ts'
import { collect } from '../../support/collect.ts'
import { dockerBackend, leftovers, removeLeftovers, uniqueName } from '../../support/engine/docker.ts'
import { waitFor } from '../../support/wait-for.ts'
import { startWorkspaceServer, type TestServer } from '../../support/workspace/server/test-server.ts'

const name = uniqueName('sdk-export')
let server: TestServer
let workspace: Workspace
beforeAll(async () => {
  server = await startWorkspaceServer({ backends: () => [dockerBackend()] })
  workspace = await connect({ url: server.url }).create({ name, labels: { my_key: 'a b' } })
})
afterAll(async () => {
  await workspace.delete()
  await server.stop()
})

test('a workspace is imported from the pieces of an export, and from bytes', async () => {
  await workspace.files.write('exported', randomBytes(300_000))
  const source = connect({ url: server.url })
  const [first, second] = [uniqueName('sdk-import'), uniqueName('sdk-import')]
  onTestFinished(() => Promise.all([first, second].map(removeLeftovers)).then(() => undefined))
  const whole = Buffer.concat(await collect(workspace.export()))
  for (const [target, archive] of [
    [first, workspace.export()],
    [second, new Blob([whole])],
  ] as const) {
    const imported = await source.import(archive, { name: target })
    expect(imported.info).toMatchObject({ name: target, status: 'running', labels: { my_key: 'a b' } })
    expect(await imported.files.read('exported')).toEqual(await workspace.files.read('exported'))
    await imported.delete()
  }
  await expect(source.import(whole, { name })).rejects.toMatchObject({ code: 'WORKSPACE_ALREADY_EXISTS' })
})

test('aborting an import removes what was created', async () => {
  const target = uniqueName('sdk-import')
  onTestFinished(() => removeLeftovers(target))
  const stop = new AbortController()
  const source = connect({ url: server.url })
  const half = async function* () {
    for await (const piece of workspace.export()) yield piece.subarray(0, 50_000)
    await new Promise(() => undefined)
  }
  const importing = source.import(half(), { name: target, signal: stop.signal })
  await waitFor('the creation', async () => (await source.list()).some((each) => each.name === target))
  stop.abort(new Error('enough'))
  await expect(importing).rejects.toThrow('enough')
  await waitFor('the rollback', async () => !(await source.list()).some((each) => each.name === target))
  expect(await leftovers(target)).toEqual([])
})
