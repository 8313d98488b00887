import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { admin, canMount, mountFileSystem } from '../../support/files/file-systems.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { makeWorkspace, startWorkspaceServer } from '../../support/workspace/server/test-server.ts'

/** A file system of 256 KiB, removed with the test. */
function tinyDisk(): string {
  const path = join(tempDir(), 'disk')
  mkdirSync(path)
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', path])
  onTestFinished(() => void execFileSync('umount', ['-l', path]))
  return path
}

function fill(path: string): string {
  const file = join(path, 'filler')
  const { bavail, bsize } = statfsSync(path)
  writeFileSync(file, Buffer.alloc(bavail * bsize))
  return file
}

test.runIf(canMount)(
  'F5 a full disk fails a creation with a clear error, and deleting still works',
  async () => {
    const stateDir = tinyDisk()
    const backend = new FakeBackend()
    const server = await startWorkspaceServer({ stateDir, backends: () => [backend] })
    onTestFinished(() => server.stop())
    await makeWorkspace(server.url, { name: 'before' })
    const filler = fill(stateDir)

    const { status, body } = await server.create({ name: 'new' })
    expect([status, body.error.code]).toEqual([500, 'BACKEND_ERROR'])
    expect(body.error.message).toMatch(/state directory.*no space left/)
    expect(await backend.find('new')).toBeUndefined()
    expect(await backend.hasVolume('new')).toBe(false)
    expect(readdirSync(join(stateDir, 'creating'))).toEqual([])
    expect((await server.api('workspaces')).body.workspaces).toHaveLength(1)
    expect(await server.api('workspaces/before', 'DELETE')).toMatchObject({ status: 204 })
    expect(await backend.find('before')).toBeUndefined()

    rmSync(filler)
    await makeWorkspace(server.url, { name: 'new' })
  },
)

test.runIf(canMount)(
  'F10 a disk that becomes read-only fails a creation with a clear error, and reading still works',
  async () => {
    const stateDir = mountFileSystem('ext4', 32 * 2 ** 20)
    const backend = new FakeBackend()
    const server = await startWorkspaceServer({ stateDir, backends: () => [backend] })
    onTestFinished(() => server.stop())
    await makeWorkspace(server.url, { name: 'before' })
    // Like the kernel after a device error.
    admin('mount', '-o', 'remount,abort', stateDir)

    const { status, body } = await server.create({ name: 'new' })
    expect([status, body.error.code]).toEqual([500, 'BACKEND_ERROR'])
    expect(body.error.message).toMatch(/state directory.*read-only file system/)
    expect(await backend.find('new')).toBeUndefined()
    expect((await server.api('workspaces/before')).body).toMatchObject({ status: 'running' })
  },
)

test.runIf(canMount)('F5 a first start on a full disk fails and leaves no partial identity', async () => {
  const stateDir = tinyDisk()
  const filler = fill(stateDir)
  await expect(startWorkspaceServer({ stateDir, backends: () => [new FakeBackend()] })).rejects.toThrow(
    /space/,
  )
  rmSync(filler)
  const server = await startWorkspaceServer({ stateDir, backends: () => [new FakeBackend()] })
  await server.stop()
})
