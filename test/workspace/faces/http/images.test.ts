import { mkdirSync, readdirSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { BAD_TAGS } from '../../../contract/image-tags.ts'
import { auditEntries } from '../../../support/workspace/server/audit-entries.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { openStore, sha256, storeImage } from '../../../support/workspace/machine/images.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { startWorkspaceServer, type TestServer } from '../../../support/workspace/server/test-server.ts'
import type { ImageStore } from '../../../../src/workspace/image/image-store.ts'

let root: string
let store: ImageStore
let server: TestServer
let auditFile: string
beforeEach(async () => {
  root = tempDir()
  auditFile = join(root, 'audit.jsonl')
  store = await openStore({ root: join(root, 'images') })
  server = await startWorkspaceServer({
    backends: () => [new FakeBackend()],
    settings: {
      enabled_backends: ['qemu'],
      default_backend: 'qemu',
      default_image: 'base',
      image_aliases: { go: 'golang:1.25' },
      qemu: { root },
      audit: { file: auditFile },
      // No engine is running; routes that use only stores work without it.
      docker: { host: 'unix:///no/such/socket' },
    },
  })
  onTestFinished(() => server.stop())
})

const images = (path = '', method = 'GET', body?: unknown) => server.api(`images${path}`, method, body)
const audited = (): readonly object[] => auditEntries(auditFile)

test('images are listed with their source, alias and default', async () => {
  const base = await storeImage(store, 'one', 'base')
  const dangling = await storeImage(store, 'two')
  await store.setTag('mine', base.digest, 'debian:12')
  const { status, body } = await images()
  expect(status).toBe(200)
  const path = store.directoryOf(base.digest)
  const shared = {
    backend: 'qemu',
    path,
    digest: base.digest,
    cached: true,
    in_use: false,
    size_bytes: expect.any(Number),
  }
  expect(body.images).toEqual(
    expect.arrayContaining([
      { ...shared, name: 'base', tag: 'base', source: 'config', is_default: true },
      { ...shared, name: 'mine', tag: 'mine', source: 'user', docker_ref: 'debian:12' },
      expect.objectContaining({ name: dangling.digest, tag: '', source: 'dangling', cached: true }),
      expect.objectContaining({
        name: 'golang:1.25',
        docker_ref: 'golang:1.25',
        source: 'config',
        alias: 'go',
        cached: false,
      }),
    ]),
  )
  expect(body.images).toHaveLength(4)
})

test('an image is inspected by tag, digest, reference and alias', async () => {
  const { digest } = await storeImage(store, 'one', 'base')
  await store.setTag('golang', digest, 'golang:1.25')
  for (const name of ['base', digest, 'golang:1.25', 'go']) {
    const { status, body } = await images(`/inspect/${encodeURIComponent(name)}`)
    expect([status, body.manifest], name).toEqual([
      200,
      {
        schema_version: 1,
        digest,
        backend: 'qemu',
        arch: 'x64',
        source_ref: 'one',
        source_ref_digest: sha256('one'),
        kernel_size: 'kernel one'.length,
        initrd_size: 'initrd one'.length,
        rootfs_logical_size: 'rootfs.ext4 one'.length,
        rootfs_physical_size: 4_096,
        created_at: '2026-01-01T00:00:00.000Z',
      },
    ])
    expect(body.image.digest).toBe(digest)
  }
})

test('F8 verifying reads all data and reports a damaged image of the right size', async () => {
  const { digest } = await storeImage(store, 'one', 'base')
  expect((await images('/inspect/base?verify=true')).status).toBe(200)
  writeFileSync(join(store.directoryOf(digest), 'kernel'), 'kernel eno')
  expect((await images('/inspect/base')).status).toBe(200)
  const { status, body } = await images('/inspect/base?verify=true')
  expect([status, body.error.code]).toEqual([500, 'BACKEND_ERROR'])
  expect(body.error.message).toMatch(
    /kernel has digest sha256:[0-9a-f]+, expected sha256:[0-9a-f]+; delete the image/,
  )
})

test('F8 a truncated image is listed as not cached, and inspecting it explains why', async () => {
  const { digest } = await storeImage(store, 'one', 'base')
  truncateSync(join(store.directoryOf(digest), 'rootfs.ext4'), 1)
  expect((await images()).body.images[0]).toMatchObject({ name: 'base', cached: false })
  const { status, body } = await images('/inspect/base')
  expect([status, body.error.code]).toEqual([500, 'BACKEND_ERROR'])
  expect(body.error.message).toContain('is damaged')
})

test('F8 an unreadable tag is listed as in use, and can be deleted', async () => {
  await storeImage(store, 'one', 'base')
  writeFileSync(join(store.root, 'tags/base.json'), '{')
  expect((await images()).body.images).toContainEqual(
    expect.objectContaining({ name: 'base', tag: 'base', digest: '', cached: false, in_use: true }),
  )
  expect((await images('/prune', 'POST')).body.error.code).toBe('BACKEND_ERROR')
  expect((await images('/base', 'DELETE')).status).toBe(204)
})

test('a tag is added and removed, and the image stays until it is pruned', async () => {
  const { digest } = await storeImage(store, 'one', 'first')
  expect((await images('/tag', 'POST', { source: 'first', target: 'second' })).status).toBe(204)
  expect((await images('/first', 'DELETE')).status).toBe(204)
  expect((await images('/inspect/second')).body.manifest.digest).toBe(digest)
  expect((await images('/first', 'DELETE')).body.error.code).toBe('IMAGE_NOT_FOUND')
  const inUse = await images(`/${digest}`, 'DELETE')
  expect([inUse.status, inUse.body.error.code]).toEqual([409, 'IMAGE_IN_USE'])
  expect((await images('/second', 'DELETE')).status).toBe(204)
  expect((await images(`/inspect/${digest}`)).status).toBe(200)
  expect((await images(`/${digest}`, 'DELETE')).status).toBe(204)
  expect((await images(`/inspect/${digest}`)).status).toBe(404)
  await server.stop()
  expect(audited()).toMatchObject([
    { action: 'image.tag', workspace: '', image: 'second', outcome: 'ok' },
    { action: 'image.delete', image: 'first', outcome: 'ok' },
    { action: 'image.delete', image: 'first', outcome: 'failed', code: 'IMAGE_NOT_FOUND' },
    { action: 'image.delete', image: digest, outcome: 'failed', code: 'IMAGE_IN_USE' },
    { action: 'image.delete', image: 'second', outcome: 'ok' },
    { action: 'image.delete', image: digest, outcome: 'ok' },
  ])
})

describe('prune', () => {
  test('previews and then deletes images that the configuration does not name', async () => {
    const base = await storeImage(store, 'one', 'base')
    const other = await storeImage(store, 'two', 'other')
    const aliased = await storeImage(store, 'three')
    await store.setTag('golang', aliased.digest, 'golang:1.25')
    const dry = await images('/prune?dry_run=true', 'POST')
    expect(dry.body.deleted).toMatchObject([{ name: 'other', digest: other.digest }])
    expect((await images()).body.images).toHaveLength(3)
    expect((await images('/prune', 'POST')).body).toEqual(dry.body)
    const left = (await images()).body.images as { digest: string }[]
    expect(left.map(({ digest }) => digest).toSorted()).toEqual([base.digest, aliased.digest].toSorted())
    expect(readdirSync(join(store.root, 'tags')).toSorted()).toEqual(['base.json', 'golang.json'])
    expect((await images('/prune', 'POST')).body).toEqual({ deleted: [] })
  })

  test.each(['TRUE', 'yes', '1', ''])('W9 refuses dry_run=%s, and deletes nothing', async (value) => {
    await storeImage(store, 'two', 'other')
    const { status, body } = await images(`/prune?dry_run=${value}`, 'POST')
    expect([status, body.error.code]).toEqual([400, 'INVALID_REQUEST'])
    expect((await images('/inspect/other')).status).toBe(200)
  })

  test('P3 deletes nothing while the images in use are unknown', async () => {
    const { digest } = await storeImage(store, 'two', 'other')
    const instance = join(root, 'instances/demo')
    mkdirSync(instance, { recursive: true })
    writeFileSync(join(instance, 'metadata.json'), '{')
    for (const path of ['/prune', '/prune?dry_run=true'])
      expect((await images(path, 'POST')).body.error.code).toBe('BACKEND_ERROR')
    expect((await images('/other', 'DELETE')).status).toBe(204)
    expect((await images(`/${digest}`, 'DELETE')).body.error.code).toBe('BACKEND_ERROR')
    expect((await images()).body.images).toContainEqual(expect.objectContaining({ digest, in_use: true }))
  })
})

test('W5 hostile names and tags are refused, and nothing is written', async () => {
  const { digest } = await storeImage(store, 'one', 'base')
  const before = readdirSync(root, { recursive: true, encoding: 'utf8' }).toSorted()
  for (const tag of BAD_TAGS) {
    const tagged = await images('/tag', 'POST', { source: digest, target: tag })
    expect([tag.slice(0, 40), tagged.status, tagged.body.error.code]).toEqual([
      tag.slice(0, 40),
      400,
      'INVALID_REQUEST',
    ])
    if (tag === '' || tag === '.' || tag === '..') continue
    for (const path of [`/${encodeURIComponent(tag)}`, `/inspect/${encodeURIComponent(tag)}`]) {
      const { status } = await images(path, path.startsWith('/inspect') ? 'GET' : 'DELETE')
      expect([path.slice(0, 60), [400, 404, 414].includes(status)]).toEqual([path.slice(0, 60), true])
    }
  }
  expect(readdirSync(root, { recursive: true, encoding: 'utf8' }).toSorted()).toEqual(before)
})

test.each([
  [{}, 'INVALID_REQUEST', 400],
  [{ docker_ref: '--privileged' }, 'INVALID_REQUEST', 400],
  [{ docker_ref: '../../x' }, 'INVALID_REQUEST', 400],
  [{ docker_ref: 'a'.repeat(10_240) }, 'INVALID_REQUEST', 400],
  [{ docker_ref: 'debian:12', backend: 'xen' }, 'INVALID_REQUEST', 400],
  [{ docker_ref: 'debian:12', more: 1 }, 'INVALID_REQUEST', 400],
  [{ docker_ref: 'debian:12', tag: '../x' }, 'INVALID_REQUEST', 400],
  [{ docker_ref: 'debian:12', backend: 'vz' }, 'BACKEND_UNAVAILABLE', 503],
  [{ docker_ref: 'debian:12' }, 'BACKEND_UNAVAILABLE', 503],
])('W5 pulling %j is refused', async (body, code, status) => {
  const answer = await images('/pull', 'POST', body)
  expect([answer.status, answer.body.error.code]).toEqual([status, code])
})
