import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { MachineFiles } from '../../../../src/workspace/backend/microvm/files/machine-files.ts'
import { MachineSnapshots } from '../../../../src/workspace/backend/microvm/machine-snapshots.ts'
import { readPinnedDigests } from '../../../../src/workspace/backend/microvm/files/pinned-digests.ts'
import { newMetadata } from '../../../../src/workspace/backend/microvm/plan-machine.ts'
import type { Snapshots } from '../../../../src/workspace/backend/snapshot.ts'
import { ImageStore } from '../../../../src/workspace/image/image-store.ts'
import { backendCreate } from '../../../support/workspace/backend/backend-create.ts'
import { tempDir } from '../../../support/temp-dir.ts'

const DIGEST = `sha256:${'a'.repeat(64)}`
const UPPER_BYTES = 2 ** 30

/** A stopped VM `demo` with a mostly sparse disk. */
async function stoppedMachine() {
  const root = tempDir()
  const files = new MachineFiles(root)
  const images = ImageStore.open({ root: join(root, 'images'), pinnedDigests: () => readPinnedDigests(root) })
  const request = backendCreate('demo', 'base', {
    repo: 'https://example.com/repo',
    forwardPorts: [3000],
    environment: { A: 'b' },
  })
  await files.begin('demo')
  const defaults = { cpus: 2, memoryMb: 512, upperBytes: UPPER_BYTES }
  await files.write({ ...newMetadata(request, DIGEST, defaults), isFormatted: true })
  writeFileSync(files.upperOf('demo'), 'the disk')
  await truncate(files.upperOf('demo'), UPPER_BYTES)
  await files.end('demo')
  return { root, files, snapshots: new MachineSnapshots('qemu', files, images) }
}
const ask = (name: string) => ({ name, workspace: 'demo', comment: 'a note', createdAt: new Date(1_000) })
const take = (snapshots: Snapshots, name: string) => snapshots.take(ask(name), new AbortController().signal)

test('a snapshot is a sparse copy with everything a new workspace needs', async () => {
  const { root, snapshots } = await stoppedMachine()
  const taken = await take(snapshots, 'Ready')
  expect(taken).toMatchObject({
    name: 'Ready',
    sourceWorkspace: 'demo',
    sourceImage: 'base',
    lowerDigest: DIGEST,
    isLowerCached: false,
    comment: 'a note',
    failure: '',
  })
  const copy = statSync(join(root, 'snapshots/ready/upper.ext4'))
  expect(copy.size).toBe(UPPER_BYTES)
  expect(copy.blocks * 512).toBe(taken.sizeBytes)
  expect(taken.sizeBytes).toBeLessThan(2 ** 20)
  expect(await snapshots.read('ready')).toMatchObject({
    isFormatted: true,
    forwardPorts: [3000],
    environment: { A: 'b' },
  })
  expect(await snapshots.list()).toEqual([taken])
  expect(await snapshots.find('other')).toBeUndefined()
})

test('a copy is an independent disk', { tags: ['long'] }, async () => {
  const { files, snapshots } = await stoppedMachine()
  await take(snapshots, 'ready')
  await files.begin('next')
  await snapshots.restore('ready', 'next', new AbortController().signal)
  writeFileSync(files.upperOf('next'), 'changed')
  const again = await take(snapshots, 'again')
  expect(again.sizeBytes).toBeGreaterThan(0)
  expect(readFileSync(files.upperOf('demo')).subarray(0, 8).toString()).toBe('the disk')
})

test('P3 a snapshot pins its image, and an unreadable one pins all', async () => {
  const { root, snapshots, files } = await stoppedMachine()
  await take(snapshots, 'ready')
  await files.removeUpper('demo')
  await files.removeInstance('demo')
  expect([...(await readPinnedDigests(root))]).toEqual([DIGEST])
  writeFileSync(join(root, 'snapshots/ready/snapshot.json'), '{')
  await expect(readPinnedDigests(root)).rejects.toMatchObject({ code: 'BACKEND_ERROR' })
  expect(await snapshots.list()).toMatchObject([
    { name: 'ready', failure: expect.stringContaining('not valid JSON') },
  ])
  await expect(snapshots.read('ready')).rejects.toMatchObject({ code: 'BACKEND_ERROR' })
  await snapshots.remove('ready')
  expect([...(await readPinnedDigests(root))]).toEqual([])
})

test('the remains of an interrupted copy are not a snapshot, and the next copy replaces them', async () => {
  const { root, snapshots } = await stoppedMachine()
  mkdirSync(join(root, 'snapshots/ready'), { recursive: true })
  writeFileSync(join(root, 'snapshots/ready/upper.ext4'), 'half')
  expect(await snapshots.list()).toEqual([])
  expect(await snapshots.find('ready')).toBeUndefined()
  await expect(snapshots.read('ready')).rejects.toMatchObject({ code: 'SNAPSHOT_NOT_FOUND' })
  expect([...(await readPinnedDigests(root))]).toEqual([DIGEST])
  await take(snapshots, 'ready')
  expect(statSync(join(root, 'snapshots/ready/upper.ext4')).size).toBe(UPPER_BYTES)
})

test('an aborted or failed copy leaves nothing', async () => {
  const { root, files, snapshots } = await stoppedMachine()
  const gaveUp = AbortSignal.abort(new Error('given up'))
  await expect(snapshots.take(ask('ready'), gaveUp)).rejects.toThrow('given up')
  await files.removeUpper('demo')
  await expect(take(snapshots, 'ready')).rejects.toMatchObject({ code: 'BACKEND_ERROR' })
  expect(readdirSync(join(root, 'snapshots'))).toEqual([])
})

test('P2 removing a snapshot deletes only the server’s files and reports others', async () => {
  const { root, snapshots } = await stoppedMachine()
  await take(snapshots, 'ready')
  writeFileSync(join(root, 'snapshots/ready/notes'), 'someone’s')
  await expect(snapshots.remove('ready')).rejects.toThrow(/the server did not create/)
  expect(existsSync(join(root, 'snapshots/ready/notes'))).toBe(true)
  await expect(snapshots.find('../demo')).rejects.toThrow(/not a valid name/)
})
