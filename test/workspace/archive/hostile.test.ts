import { cp, mkdir, readdir } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openArchive } from '../../../src/workspace/archive/read-archive.ts'
import { TAR_END } from '../../../src/lib/tar/encode-header.ts'
import { Random } from '../../support/differential/random.ts'
import { rounds } from '../../support/rounds.ts'
import { makeTempDir, tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'
import {
  archiveOf,
  compressed,
  MANIFEST,
  paxEntry,
  tarEntry,
} from '../../support/workspace/archive/archives.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { call, startWorkspaceServer, type TestServer } from '../../support/workspace/server/test-server.ts'

const backend = new FakeBackend()
const outside = makeTempDir()
let server: TestServer
beforeAll(async () => {
  server = await startWorkspaceServer({ backends: () => [backend] })
})
afterAll(async () => {
  await server.stop()
  outside.remove()
})

const workspaceUrl = () => `${server.url}/api/workspaces/${MANIFEST.name}`

async function send(archive: Buffer, query = ''): Promise<{ status: number; code: string; message: string }> {
  const response = await fetch(`${server.url}/api/workspaces/import${query}`, {
    method: 'POST',
    body: Buffer.from(archive),
    headers: { 'content-type': 'application/octet-stream' },
  })
  const { error } = (await response.json()) as { error?: { code: string; message: string } }
  return { status: response.status, code: error?.code ?? '', message: error?.message ?? '' }
}

/** Fails unless nothing of the import is left, neither at the server nor at the backend. */
async function expectNothingLeft(name = MANIFEST.name): Promise<void> {
  expect((await server.api('workspaces')).body.workspaces).toEqual([])
  expect(await backend.find(name)).toBeUndefined()
  expect(await backend.hasVolume(name)).toBe(false)
  expect(await readdir(join(server.stateDir, 'creating')).catch(() => [])).toEqual([])
}

const file = (path: string) => tarEntry(path, { content: 'content' })
const link = (path: string, linkPath: string) => tarEntry(path, { type: '2', linkPath })
const hardlink = (path: string, linkPath: string) => tarEntry(path, { type: '1', linkPath })
const withManifest = (change: object) => archiveOf(undefined, { ...MANIFEST, ...change })

test.each<[string, Buffer]>([
  ['nothing', Buffer.alloc(0)],
  ['one byte', Buffer.from([0x1f])],
  ['a text', Buffer.from('This is not an archive. '.repeat(100))],
  ['a damaged gzip header', Buffer.concat([Buffer.from([0x1f, 0x8b]), Buffer.alloc(600, 1)])],
  ['an empty tar', TAR_END],
  ['a tar without a manifest', Buffer.concat([file('workspace/a'), TAR_END])],
  ['a manifest that is a link', Buffer.concat([link('workspace-archive.json', '/etc/passwd'), TAR_END])],
  ['a manifest that is not JSON', archiveOf(undefined, '{"version":1')],
  ['a manifest that is a list', archiveOf(undefined, '[]')],
  ['a huge manifest', archiveOf(undefined, { ...MANIFEST, repo: 'x'.repeat(300_000) })],
  ['a newer version', withManifest({ version: 2 })],
  ['an older version', withManifest({ version: 0 })],
  ['a missing field', withManifest({ environment: undefined })],
  ['an unknown backend', withManifest({ backend: 'bochs' })],
  ['a negative size', withManifest({ cpus: -1 })],
  ['a bad variable', withManifest({ environment: { 'A=B': 'x' } })],
  [
    'too many variables',
    withManifest({ environment: Object.fromEntries(Array.from({ length: 600 }, (_, i) => [`V${i}`, ''])) }),
  ],
  ['a bad port', withManifest({ forwardPorts: [0] })],
  ['an absolute path', archiveOf([file('/etc/passwd')])],
  ['a path that leads out', archiveOf([file('workspace/../../etc/passwd')])],
  ['a path that begins above', archiveOf([file('../workspace/a')])],
  ['another directory', archiveOf([file('etc/passwd')])],
  ['a name that begins like a directory', archiveOf([file('workspace2/a')])],
  ['an empty name in a path', archiveOf([file('workspace//etc')])],
  ['a pax path that leads out', archiveOf([paxEntry({ path: 'workspace/../../a' }), file('workspace/a')])],
  [
    'a sparse name that leads out',
    archiveOf([paxEntry({ 'GNU.sparse.major': '1', 'GNU.sparse.name': '/a' }), file('workspace/a')]),
  ],
  ['a header for all entries', archiveOf([paxEntry({ path: '/a' }, 'g'), file('workspace/a')])],
  ['a hard link out', archiveOf([hardlink('workspace/a', '/etc/passwd')])],
  ['a hard link into another directory', archiveOf([hardlink('workspace/a', 'home/a')])],
  [
    'a hard link with content',
    archiveOf([tarEntry('workspace/a', { type: '1', linkPath: 'workspace/b', content: 'x' })]),
  ],
  ['a character device', archiveOf([tarEntry('workspace/a', { type: '3' })])],
  ['a block device', archiveOf([tarEntry('workspace/a', { type: '4' })])],
  ['a FIFO', archiveOf([tarEntry('workspace/a', { type: '6' })])],
  ['a sparse file of the old format', archiveOf([tarEntry('workspace/a', { type: 'S' })])],
  ['an unknown type', archiveOf([tarEntry('workspace/a', { type: 'Z' })])],
  ['directories in another order', archiveOf([file('home/a'), file('workspace/a')])],
  [
    'an entry after the end',
    Buffer.concat([archiveOf().subarray(0, -TAR_END.length), file('workspace/a'), TAR_END]),
  ],
  ['no end', Buffer.concat([archiveOf().subarray(0, -TAR_END.length - 1024), TAR_END])],
])('an archive with %s is refused and leaves nothing', async (_what, archive) => {
  for (const sent of [archive, compressed(archive)]) {
    const answer = await send(sent)
    expect(answer).toMatchObject({ status: 400, code: 'INVALID_ARCHIVE' })
    expect(answer.message).toMatch(/archive|manifest/)
  }
  await expectNothingLeft()
})

test.each<[string, object, string]>([
  ['name', { name: '../x' }, 'INVALID_WORKSPACE_NAME'],
  ['repository', { repo: 'file:///etc' }, 'INVALID_REPO_URL'],
  ['label', { labels: { 'a b': '' } }, 'INVALID_REQUEST'],
  ['idle limit', { stopAfterS: 1e12 }, 'INVALID_REQUEST'],
  ['plan of checkpoints', { checkpoints: { everyS: 1, keep: null, maxAgeS: null } }, 'INVALID_REQUEST'],
  ['image', { image: '-v /:/host' }, 'INVALID_REQUEST'],
  ['network', { network: { allow_host_ports: [22] } }, 'INVALID_REQUEST'],
])('a manifest with a bad %s is refused like a request', async (_what, change, code) => {
  expect(await send(withManifest(change))).toMatchObject({ status: 400, code })
  await expectNothingLeft()
})

test('links never lead a file out of the workspace', async () => {
  const target = outside.path
  await mkdir(join(target, 'inner'))
  const tricks = [
    [link('workspace/out', target), file('workspace/out/a')],
    [link('workspace/out', target), file('workspace/out')],
    [link('workspace/up', `..${target}`), file('workspace/up/a')],
    [link('workspace', target), file('workspace/a')],
    [link('workspace/out', target), hardlink('workspace/hard', 'workspace/out'), file('workspace/hard/a')],
    [tarEntry('workspace/d/', { type: '5' }), link('workspace/d', target), file('workspace/d/a')],
    [link('workspace/a', `${target}/inner`), link('workspace/b', 'a'), file('workspace/b/a')],
    [link('home/out', target), file('home/out/a')],
  ]
  for (const entries of tricks) {
    const { status, code } = await send(compressed(archiveOf(entries)))
    expect(status === 201 || code === 'BACKEND_ERROR', code).toBe(true)
    if (status === 201) await call(workspaceUrl(), 'DELETE')
    expect(await readdir(target)).toEqual(['inner'])
    expect(await readdir(join(target, 'inner'))).toEqual([])
    await expectNothingLeft()
  }
})

const COMPLETE = archiveOf([
  tarEntry('workspace/', { type: '5' }),
  tarEntry('workspace/a', { content: 'a'.repeat(3_000) }),
  link('workspace/b', 'a'),
  tarEntry('home/c', { content: 'c'.repeat(700) }),
])

test('an archive that is cut anywhere is refused and leaves nothing', async () => {
  const random = new Random(1)
  for (const whole of [COMPLETE, compressed(COMPLETE)]) {
    // Of the end, a reader needs the first empty block.
    const end = whole === COMPLETE ? whole.length - TAR_END.length : whole.length
    const cuts = [1, 512, end - 1, end, ...Array.from({ length: rounds(3, 15) }, () => random.below(end))]
    for (const cut of cuts.filter((at) => at < whole.length)) {
      const answer = await send(whole.subarray(0, cut))
      expect(answer, String(cut)).toMatchObject({ status: 400, code: 'INVALID_ARCHIVE' })
      await expectNothingLeft()
    }
  }
})

test('an archive with a changed byte is refused, or it has the same files', { tags: ['long'] }, async () => {
  const random = new Random(2)
  const listing = async () =>
    (
      await call(`${workspaceUrl()}/exec`, 'POST', {
        command: 'find . -printf "%p %m %s %l %T@\\n" -type f -exec cat {} +',
      })
    ).body.stdout as string
  expect((await send(COMPLETE)).status).toBe(201)
  const original = await listing()
  expect(original).toContain('aaaa')
  await call(workspaceUrl(), 'DELETE')
  let refused = 0
  for (let i = 0; i < 60; i++) {
    const changed = Buffer.from(COMPLETE)
    const at = random.below(changed.length)
    changed.writeUInt8(changed.readUInt8(at) ^ (1 << random.below(8)), at)
    const { status } = await send(changed)
    if (status === 201) expect(await listing(), String(at)).toBe(original)
    else refused++
    await call(workspaceUrl(), 'DELETE')
    await expectNothingLeft()
  }
  expect(refused).toBeGreaterThan(20)
})

test.each([
  ['zeros', compressed(archiveOf([tarEntry('workspace/a', { content: '\0'.repeat(10_000_000) })]))],
  ['zeros after the end', Buffer.from(gzipSync(Buffer.concat([archiveOf(), Buffer.alloc(10_000_000)])))],
  ['many names', compressed(archiveOf(Array.from({ length: 20_000 }, (_, i) => tarEntry(`workspace/${i}`))))],
])('a compression bomb of %s ends at the limit', async (_what, archive) => {
  expect(archive.length).toBeLessThan(500_000)
  const read = async (): Promise<void> => {
    const limits = { maxBytes: 5_000_000, signal: new AbortController().signal }
    const { entries } = await openArchive(Readable.from([archive]), limits)
    for await (const { blocks } of entries) for await (const _ of blocks);
  }
  await expect(read()).rejects.toMatchObject({ code: 'ARCHIVE_TOO_LARGE' })
})

test('an upload that stops is given up', async () => {
  const body = new Readable({ read: () => undefined })
  body.push(COMPLETE.subarray(0, 700))
  const limits = { maxBytes: 1e9, signal: new AbortController().signal, silenceMs: 20 }
  await expect(openArchive(body, limits)).rejects.toMatchObject({ code: 'INVALID_ARCHIVE' })
})

/** Sends the first part of an archive and leaves the request open. */
async function sendHalf() {
  const upload = request(`${server.url}/api/workspaces/import`, {
    method: 'POST',
    headers: { 'content-type': 'application/octet-stream' },
  })
  upload.on('error', () => undefined)
  // More than the 10 KiB that tar reads at once.
  upload.write(archiveOf([tarEntry('workspace/a', { content: 'a'.repeat(200_000) })]).subarray(0, 100_000))
  const state = async () => (await call(workspaceUrl())).body.status as string | undefined
  await waitFor('the files', async () => {
    const found = await backend.find(MANIFEST.name)
    if (found === undefined) return false
    const directory = await backend.exec(MANIFEST.name, { argv: ['ls'], stdin: false })
    let names = ''
    for await (const chunk of directory.stdout) names += String(chunk)
    return names.includes('a')
  })
  expect(await state()).toBe('starting')
  return upload
}

test('a client that disconnects leaves nothing', async () => {
  const upload = await sendHalf()
  upload.destroy()
  await waitFor('the rollback', async () => (await call(workspaceUrl())).status === 404)
  await expectNothingLeft()
})

test('deleting the workspace ends its import', async () => {
  const upload = await sendHalf()
  const answered = new Promise<number | undefined>((resolve) =>
    upload.on('response', ({ statusCode }) => resolve(statusCode)),
  )
  expect((await call(workspaceUrl(), 'DELETE')).status).toBe(204)
  expect(await answered).toBe(409)
  upload.destroy()
  await expectNothingLeft()
})

test('the start after a killed server removes a half-made import', async () => {
  const upload = await sendHalf()
  // What a killed server leaves on disk.
  const stateDir = tempDir()
  await cp(server.stateDir, stateDir, { recursive: true, filter: (path) => !/\.(?:sock|lock)$/.test(path) })
  const next = await startWorkspaceServer({ backends: () => [backend], stateDir })
  onTestFinished(() => next.stop())
  expect((await next.api('workspaces')).body.workspaces).toEqual([])
  expect(await backend.find(MANIFEST.name)).toBeUndefined()
  expect(await backend.hasVolume(MANIFEST.name)).toBe(false)
  upload.destroy()
  await waitFor('the rollback', async () => (await call(workspaceUrl())).status === 404)
})

test('a workspace whose files cannot be unpacked is removed', async () => {
  backend.before.set('exec', () => {
    throw new Error('the engine failed')
  })
  const { status } = await send(COMPLETE)
  backend.before.delete('exec')
  expect(status).toBe(500)
  await expectNothingLeft()
})
