import { afterAll, beforeAll, expect, test } from 'vitest'
import { dockerBackend, removeLeftovers, uniqueName } from '../../support/engine/docker.ts'
import { machineRoots, qemuBackend } from '../../support/vm/vm-server.ts'
import { VM_IMAGE } from '../../support/vm/vm-image.ts'
import { randomTree, SNAPSHOT_OF_TREE } from '../../support/workspace/archive/random-tree.ts'
import {
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../support/workspace/server/test-server.ts'

const roots = machineRoots()
const [container, machine, back] = ['container', 'machine', 'back'].map(uniqueName) as [
  string,
  string,
  string,
]
let server: TestServer
beforeAll(async () => {
  const qemu = await qemuBackend(roots)
  server = await startWorkspaceServer({ backends: () => [dockerBackend(), qemu] })
})
afterAll(async () => {
  for (const name of [container, machine, back]) await server.api(`workspaces/${name}`, 'DELETE')
  await server.stop()
  for (const name of [container, back]) await removeLeftovers(name)
  roots.remove()
})

const run = async (name: string, command: string): Promise<string> => {
  const { body } = await server.api(`workspaces/${name}/exec`, 'POST', { command })
  expect(body.exit_status, body.stderr).toBe(0)
  return body.stdout as string
}

async function move(from: string, to: string, query: Readonly<Record<string, string>>): Promise<void> {
  const archive = await fetch(`${server.url}/api/workspaces/${from}/export`)
  const parameters = new URLSearchParams({ name: to, ...query }).toString()
  const answer = await fetch(`${server.url}/api/workspaces/import?${parameters}`, {
    method: 'POST',
    body: archive.body,
    headers: { 'content-type': 'application/octet-stream' },
    ...({ duplex: 'half' } as object),
  })
  const workspace = await answer.json()
  expect(workspace).toMatchObject({ name: to, status: 'running', backend: query['backend'] })
}

test('a workspace moves from a container to a virtual machine and back with all files', async () => {
  await makeWorkspace(server.url, { name: container })
  await run(container, randomTree('./tree', 3))
  await run(container, randomTree('/home/workspace/tree', 4))
  const listing = `${SNAPSHOT_OF_TREE}; cd ~/tree && ${SNAPSHOT_OF_TREE}`
  const files = await run(container, `cd tree && ${listing}`)
  expect(files.split('\n').length).toBeGreaterThan(100)

  await move(container, machine, { backend: 'qemu', image: VM_IMAGE })
  expect(await run(machine, `cd tree && ${listing}`)).toBe(files)
  await move(machine, back, { backend: 'docker' })
  expect(await run(back, `cd tree && ${listing}`)).toBe(files)
})
