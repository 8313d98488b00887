import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { SocketDirs } from '../../../../../src/workspace/backend/microvm/guest/socket-dir.ts'
import { tempDir } from '../../../../support/temp-dir.ts'

test('W2 a directory too long for sockets is refused before anything is created, with a remedy', async () => {
  const deep = join(tempDir(), 'd'.repeat(80))
  await expect(new SocketDirs(deep).create('0a1b2c3d')).rejects.toMatchObject({
    code: 'BACKEND_ERROR',
    message: expect.stringContaining('set vm.run_dir to a shorter path'),
  })
  expect(existsSync(deep)).toBe(false)
})

test('W2 the longest accepted directory fits the longest socket', () => {
  const longest = 107 - '/00000000/vsock.sock_4294967295'.length
  expect(() => new SocketDirs(`/${'d'.repeat(longest - 1)}`).check()).not.toThrow()
  expect(() => new SocketDirs(`/${'d'.repeat(longest)}`).check()).toThrow(/too long/)
})

test('a VM’s sockets are accessible only to the server’s user, and earlier ones are removed', async () => {
  const root = join(tempDir(), 'run')
  const dirs = new SocketDirs(root)
  const path = await dirs.create('0a1b2c3d')
  // When the server is root, the VMs' users may enter it.
  expect(statSync(root).mode & 0o777).toBe(process.getuid?.() === 0 ? 0o711 : 0o700)
  writeFileSync(join(path, 'vsock.sock'), '')
  await dirs.create('0a1b2c3d')
  expect(existsSync(join(path, 'vsock.sock'))).toBe(false)
  await dirs.remove('0a1b2c3d')
  expect(existsSync(path)).toBe(false)
})

test('P2 an invalid id is never used as a path', () => {
  for (const id of ['', '..', '../../x', '0a1b2c3', '0A1B2C3D']) {
    expect(() => new SocketDirs('/run/vm').pathOf(id)).toThrow(/not a VM's id/)
  }
})
