import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { MachineFiles } from '../../../../../src/workspace/backend/microvm/files/machine-files.ts'
import { workspaceOf } from '../../../../../src/workspace/backend/microvm/machine-state.ts'
import { newMetadata } from '../../../../../src/workspace/backend/microvm/plan-machine.ts'
import { readPinnedDigests } from '../../../../../src/workspace/backend/microvm/files/pinned-digests.ts'
import { backendCreate } from '../../../../support/workspace/backend/backend-create.ts'
import { tempDir } from '../../../../support/temp-dir.ts'

const good = newMetadata(backendCreate('Demo', 'base'), `sha256:${'a'.repeat(64)}`, {
  cpus: 2,
  memoryMb: 512,
  upperBytes: 2 ** 30,
})
const text = JSON.stringify(good)

function filesWith(content: string | Buffer, key = 'demo'): MachineFiles {
  const root = tempDir()
  mkdirSync(join(root, 'instances', key), { recursive: true })
  writeFileSync(join(root, 'instances', key, 'metadata.json'), content)
  return new MachineFiles(root)
}
const stateIn = async (files: MachineFiles, key = 'demo') =>
  (await workspaceOf('qemu', files, key, await files.read(key), 'boot'))?.state

test('written metadata is read back', async () => {
  const root = tempDir()
  const files = new MachineFiles(root)
  await files.begin('Demo')
  await files.write(good)
  await files.end('Demo')
  expect(await files.read('demo')).toEqual({ is: 'valid', record: good })
  expect(await stateIn(files)).toEqual({ is: 'stopped' })
  expect([...(await readPinnedDigests(files.root))]).toEqual([good.digest])
})

test('labels are stored, and metadata of an earlier version has none', async () => {
  const labelsIn = async (metadata: object) => {
    const files = filesWith(JSON.stringify(metadata))
    return (await workspaceOf('qemu', files, 'demo', await files.read('demo'), 'boot'))?.labels
  }
  const defaults = { cpus: 2, memoryMb: 512, upperBytes: 2 ** 30 }
  const labels = { team: 'web' }
  const request = backendCreate('Demo', 'base', { labels })
  expect(await labelsIn(newMetadata(request, good.digest, defaults))).toEqual(labels)
  expect(await labelsIn(good)).toBeUndefined()
  expect(await labelsIn({ ...good, labels: undefined })).toBeUndefined()
})

const changed = (more: object) => JSON.stringify({ ...good, ...more })
test.each([
  ['empty', ''],
  ['white space', ' \n'],
  ['cut', text.slice(0, -20)],
  ['cut to its first byte', '{'],
  ['all NULs', Buffer.alloc(text.length)],
  ['begun and then NULs', Buffer.concat([Buffer.from(text.slice(0, 40)), Buffer.alloc(200)])],
  ['not text', Buffer.from([0xff, 0xfe, 0x80])],
  ['null', 'null'],
  ['a number', '7'],
  ['a list', '[]'],
  ['an object of nothing', '{}'],
  ['of another version', changed({ version: 2 })],
  ['of another workspace', changed({ name: 'other' })],
  ['without a digest', changed({ digest: '' })],
  ['with a path for a digest', changed({ digest: '../../etc' })],
  ['with a path for an id', changed({ id: '../../..' })],
  ['with text for a number', changed({ cpus: '2' })],
  ['with process 1', changed({ run: { ...runOf(1) } })],
  ['with a process group', changed({ run: { ...runOf(-5) } })],
  ['with no process', changed({ run: { ...runOf(5), processes: [] } })],
])('F8 P3 metadata that is %s makes its workspace an error and pins every image', async (_what, content) => {
  const files = filesWith(content)
  expect(await files.read('demo')).toMatchObject({ is: 'unreadable' })
  expect(await stateIn(files)).toMatchObject({
    is: 'error',
    message: expect.stringContaining('metadata.json'),
  })
  await expect(readPinnedDigests(files.root)).rejects.toMatchObject({ code: 'BACKEND_ERROR' })
})

test('F8 unreadable metadata does not affect other workspaces', async () => {
  const files = filesWith('')
  mkdirSync(join(files.root, 'instances/other'))
  writeFileSync(join(files.root, 'instances/other/metadata.json'), changed({ name: 'other' }))
  const found = (await files.list()).map(({ key, reading }) => `${key} ${reading.is}`)
  expect(new Set(found)).toEqual(new Set(['demo unreadable', 'other valid']))
})

test('P2 an invalid name is never used as a path', async () => {
  const files = filesWith(text)
  for (const name of ['../demo', 'a/b', '', '.', '-x', 'x'.repeat(64)])
    expect(() => files.instanceOf(name)).toThrow(/is not a valid name/)
  mkdirSync(join(files.root, 'instances/.hidden'))
  mkdirSync(join(files.root, 'instances/UPPER'))
  expect((await files.list()).map(({ key }) => key)).toEqual(['demo'])
})

test('P2 removing deletes only the server’s files and reports others', async () => {
  const files = filesWith(text)
  writeFileSync(join(files.instanceOf('demo'), 'notes'), 'someone’s')
  await expect(files.removeInstance('demo')).rejects.toThrow(/the server did not create/)
  await files.removeInstance('absent')
})

function runOf(pid: number) {
  return {
    hostBoot: 'boot',
    processes: [{ pid, began: '1' }],
    line: 'hybrid',
    isReady: true,
    ipAddress: '',
    consoleStart: 0,
  }
}
