import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { packageRoot } from '../../../../src/lib/process/package.ts'
import { FirecrackerDriver } from '../../../../src/workspace/backend/firecracker/firecracker-driver.ts'
import { readEventStream } from '../../../support/http/event-stream.ts'
import { openSsh } from '../../../support/workspace/ssh/open-ssh.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { VM_IMAGE } from '../../../support/vm/vm-image.ts'
import { machineRoots, qemuBackend, vmServer } from '../../../support/vm/vm-server.ts'
import { waitFor } from '../../../support/wait-for.ts'
import {
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../../support/workspace/server/test-server.ts'

const BOOT_MS = 300_000

type Roots = ReturnType<typeof machineRoots>

/** A stand-in for Firecracker that boots in QEMU and, like Firecracker, exits at a reboot. */
async function firecrackerServer(roots: Roots): Promise<TestServer> {
  const binary = join(tempDir(), 'firecracker')
  const script = join(packageRoot, 'test/support/vm/fake-firecracker.ts')
  writeFileSync(binary, `#!/bin/sh\nexec "${process.execPath}" "${script}" "$@"\n`)
  chmodSync(binary, 0o755)
  const driver = new FirecrackerDriver({ binary, jailer: undefined, root: roots.root, kvm: '/dev/null' })
  const backend = await qemuBackend(roots, { driver, network: 'none' })
  const names = { enabled_backends: ['firecracker'], default_backend: 'firecracker', default_image: VM_IMAGE }
  return startWorkspaceServer({ backends: () => [backend], settings: { ...names, ssh: { processes: 0 } } })
}

describe.each([
  { kind: 'qemu', serve: vmServer },
  { kind: 'firecracker', serve: firecrackerServer },
])('a $kind machine', ({ serve }) => {
  test('boots again after a reboot and stays off after a poweroff', async () => {
    const roots = machineRoots()
    onTestFinished(() => roots.remove())
    const server = await serve(roots)
    onTestFinished(() => server.stop())
    const ssh = await openSsh(server)
    onTestFinished(() => ssh.remove())
    await makeWorkspace(server.url, { name: 'demo' })
    onTestFinished(async () => void (await server.api('workspaces/demo', 'DELETE')))
    const find = async () => (await server.api('workspaces/demo')).body
    const before = await find()
    const bootId = async () =>
      (await ssh.run('demo', 'cat /proc/sys/kernel/random/boot_id', { stdin: '' })).stdout.toString()
    const firstBoot = await bootId()
    await ssh.run('demo', 'echo kept > /workspace/file; sync', { stdin: '' })
    const stream = await readEventStream(`${server.url}/api/events`)

    await ssh.run('demo', 'sudo systemctl --no-block reboot', { stdin: '' })
    const statuses = () =>
      stream.events.filter(({ event }) => event === 'workspace').map(({ data }) => data.workspace.status)
    await waitFor('the reboot', () => statuses().at(-1) === 'running', BOOT_MS)
    expect(statuses()).toEqual(['starting', 'running'])
    const after = await find()
    expect({ ...after, pid: 0 }).toEqual({ ...before, pid: 0 })
    expect(after.pid).not.toBe(before.pid)
    expect(await bootId()).not.toBe(firstBoot)
    expect((await ssh.run('demo', 'cat /workspace/file', { stdin: '' })).stdout.toString()).toBe('kept\n')

    await ssh.run('demo', 'sudo systemctl --no-block poweroff', { stdin: '' })
    await waitFor('the poweroff', async () => (await find()).status === 'stopped', BOOT_MS)
    expect(statuses()).toEqual(['starting', 'running', 'stopped'])
  })
})
