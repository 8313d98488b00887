import {
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ImageStore } from '../../../src/workspace/image/image-store.ts'
import { parseTag, tagOfReference } from '../../../src/workspace/image/tag.ts'
import { BAD_TAGS, GOOD_TAGS } from '../../contract/image-tags.ts'
import { openStore, sha256, storeImage } from '../../support/workspace/machine/images.ts'
import { tempDir } from '../../support/temp-dir.ts'

const blobsOf = (store: ImageStore): string => join(store.root, 'blobs', 'sha256')
const tagFile = (store: ImageStore, tag: string): string => join(store.root, 'tags', `${tag}.json`)

test('a published image is found by its tag, its digest and the reference its tag was pulled from', async () => {
  const store = await openStore()
  const { digest } = await storeImage(store, 'one')
  await store.setTag('base', digest, 'workspace-base:1')
  const image = await store.resolve('base')
  expect(image).toEqual({
    digest,
    arch: 'x64',
    directory: join(blobsOf(store), digest.slice('sha256:'.length)),
    rootfs: join(image.directory, 'rootfs.ext4'),
    kernel: join(image.directory, 'kernel'),
    initrd: join(image.directory, 'initrd'),
  })
  expect(await store.resolve(digest)).toEqual(image)
  expect(await store.resolve('workspace-base:1')).toEqual(image)
  expect(readFileSync(image.rootfs, 'utf8')).toBe('rootfs.ext4 one')
  expect(readdirSync(blobsOf(store))).toEqual([digest.slice('sha256:'.length)])
})

test('an image is identified by its files: creating the same ones again yields one image', async () => {
  const store = await openStore()
  const first = await storeImage(store, 'one')
  const second = await storeImage(store, 'one')
  const other = await storeImage(store, 'two')
  expect(second.digest).toBe(first.digest)
  expect(other.digest).not.toBe(first.digest)
  expect((await store.list()).images).toHaveLength(2)
})

test.each(['missing', sha256('nothing'), 'workspace-base:1', '../../etc/passwd', '-rf', ''])(
  'a name that stands for nothing is IMAGE_NOT_FOUND: %s',
  async (name) => {
    const store = await openStore()
    await storeImage(store, 'one', 'base')
    await expect(store.resolve(name)).rejects.toMatchObject({ code: 'IMAGE_NOT_FOUND' })
  },
)

test('a tag whose image is missing is IMAGE_NOT_FOUND, and is still listed', async () => {
  const store = await openStore()
  const { digest } = await storeImage(store, 'one', 'base')
  rmSync(store.directoryOf(digest), { recursive: true })
  await expect(store.resolve('base')).rejects.toMatchObject({ code: 'IMAGE_NOT_FOUND' })
  expect((await store.list()).images).toMatchObject([
    { digest, reading: { is: 'absent' }, tags: [{ tag: 'base' }] },
  ])
})

describe('W5 tags are file names and nothing else', () => {
  test.each(GOOD_TAGS)('W5 the tag %j is accepted', async (tag) => {
    const store = await openStore()
    const { digest } = await storeImage(store, 'one', tag)
    expect((await store.resolve(tag)).digest).toBe(digest)
    expect(existsSync(tagFile(store, tag))).toBe(true)
  })

  test.each(BAD_TAGS.map((tag) => [tag.slice(0, 70), tag] as const))(
    'W5 the tag %j is refused and nothing is written',
    async (_shown, tag) => {
      const root = join(tempDir(), 'below')
      const store = await openStore({ root })
      const { digest } = await storeImage(store, 'one')
      await expect(store.setTag(tag, digest, '')).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
      await expect(store.removeTag(tag)).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
      await expect(store.resolve(tag)).rejects.toMatchObject({ code: 'IMAGE_NOT_FOUND' })
      expect(readdirSync(join(root, 'tags'))).toEqual([])
      expect(readdirSync(join(root, '..'))).toEqual(['below'])
    },
  )

  test.each([
    ['workspace-base:1', 'workspace-base-1'],
    ['127.0.0.1:5000/Team/App:V2', 'app-v2'],
    [`debian@sha256:${'0'.repeat(64)}`, 'debian'],
    [`x/${'y'.repeat(70)}`, 'y'.repeat(63)],
  ])('W5 the reference %s gets the tag %s', (reference, tag) => {
    expect(tagOfReference(reference)).toBe(tag)
    expect(parseTag(tag)).toBe(tag)
  })
})

describe('F8 damage is reported and never treated as absence', () => {
  test.each([
    ['is cut short', (file: string) => truncateSync(file, 3), /has 3 bytes, expected/],
    ['is missing', (file: string) => rmSync(file), /no such file/],
    [
      'is a link',
      (file: string) => {
        rmSync(file)
        symlinkSync('/etc/passwd', file)
      },
      /is not a regular file/,
    ],
  ])('F8 an image whose rootfs.ext4 %s does not resolve', async (_how, damage, says) => {
    const store = await openStore()
    await storeImage(store, 'one', 'base')
    damage((await store.resolve('base')).rootfs)
    const failing = store.resolve('base')
    await expect(failing).rejects.toMatchObject({
      code: 'BACKEND_ERROR',
      message: expect.stringMatching(says),
    })
    await expect(failing).rejects.toThrow('pull or build it again')
  })

  const manifests: readonly (readonly [string, (text: string) => string])[] = [
    ['nothing', () => ''],
    ['half of itself', (text) => text.slice(0, text.length / 2)],
    ['NULs', () => '\0'.repeat(64)],
    ['null', () => 'null'],
    ['a list', () => '[]'],
    ['another version', (text) => text.replace('"schemaVersion": 1', '"schemaVersion": 2')],
    ['another file digest', (text) => text.replace(/("kernel": \{\s+"digest": "sha256:)./, '$1x')],
    ['another size', (text) => text.replace(/"bytes": \d+/, '"bytes": -1')],
    [
      'another digest',
      (text) => text.replaceAll(/"digest": "sha256:[0-9a-f]{64}"/g, `"digest": "${sha256('x')}"`),
    ],
  ]
  test.each(manifests)(
    'F8 an image whose manifest contains %s does not resolve, and is replaced',
    async (_what, damage) => {
      const store = await openStore()
      const { digest } = await storeImage(store, 'one', 'base')
      const file = join(store.directoryOf(digest), 'manifest.json')
      writeFileSync(file, damage(readFileSync(file, 'utf8')))
      await expect(store.resolve('base')).rejects.toMatchObject({ code: 'BACKEND_ERROR' })
      await storeImage(store, 'one')
      expect((await store.resolve('base')).digest).toBe(digest)
      expect(readdirSync(blobsOf(store))).toEqual([digest.slice('sha256:'.length)])
    },
  )

  test.each(['', '{', 'null', '7', '{}', '{"digest": "sha256:00", "dockerRef": ""}', '\0\0'])(
    'F8 a tag whose file contains %j is reported, keeps every image, and can be removed',
    async (content) => {
      const store = await openStore()
      const { digest } = await storeImage(store, 'one', 'base')
      const other = await storeImage(store, 'two')
      writeFileSync(tagFile(store, 'base'), content)
      await expect(store.resolve('base')).rejects.toMatchObject({ code: 'BACKEND_ERROR' })
      expect((await store.list()).unreadableTags).toMatchObject([{ tag: 'base' }])
      await expect(store.remove(other.digest, () => true)).rejects.toMatchObject({ code: 'BACKEND_ERROR' })
      expect((await store.list()).images).toHaveLength(2)
      await store.removeTag('base')
      expect(await store.remove(digest, () => true)).toBe(true)
    },
  )
})

describe('deleting', () => {
  test('P3 nothing is deleted while pins are unknown', async () => {
    const pinnedDigests = () => Promise.reject(new Error('instances/demo/metadata.json cannot be read'))
    const store = await openStore({ pinnedDigests })
    const { digest } = await storeImage(store, 'one', 'base')
    await expect(store.remove(digest, () => true)).rejects.toThrow('metadata.json')
    expect((await store.resolve('base')).digest).toBe(digest)
  })

  test('P3 a pinned image stays, with its tags', async () => {
    const pins = new Set<string>()
    const store = await openStore({ pinnedDigests: () => Promise.resolve(pins) })
    const { digest } = await storeImage(store, 'one', 'base')
    pins.add(digest)
    expect(await store.remove(digest, () => true)).toBe(false)
    await store.removeTag('base')
    expect((await store.resolve(digest)).digest).toBe(digest)
  })

  test('P4 an image pinned during its deletion is restored', async () => {
    let asked = 0
    let digest = ''
    const pinnedDigests = () => Promise.resolve(new Set(asked++ === 0 ? [] : [digest]))
    const store = await openStore({ pinnedDigests })
    digest = (await storeImage(store, 'one', 'base')).digest
    expect(await store.remove(digest, () => true)).toBe(false)
    expect(asked).toBe(2)
    expect((await store.resolve('base')).digest).toBe(digest)
    expect(readdirSync(blobsOf(store))).toHaveLength(1)
  })

  test('an image is deleted with its tags and leaves nothing behind', async () => {
    const store = await openStore()
    const { digest } = await storeImage(store, 'one', 'base')
    await store.setTag('other', digest, '')
    expect(await store.remove(digest, () => true)).toBe(true)
    expect(await store.remove(digest, () => true)).toBe(false)
    expect([readdirSync(blobsOf(store)), readdirSync(join(store.root, 'tags'))]).toEqual([[], []])
  })
})

test('concurrent requests across two stores create an image once', async () => {
  const root = tempDir()
  const [one, two] = await Promise.all([openStore({ root }), openStore({ root })])
  let made = 0
  const ask = (store: ImageStore) =>
    store.singleflight(sha256('key one'), () => (made++, storeImage(store, 'one')), {
      onWait: () => undefined,
    })
  const all = await Promise.all([one, two, one, two, one, two].map(ask))
  expect(made).toBe(1)
  expect(new Set(all.map(({ digest }) => digest)).size).toBe(1)
})

test('after a failure the next caller creates the image', async () => {
  const store = await openStore()
  const options = { onWait: () => undefined }
  const key = sha256('key one')
  await expect(store.singleflight(key, () => Promise.reject(new Error('full')), options)).rejects.toThrow(
    'full',
  )
  expect(await store.singleflight(key, () => storeImage(store, 'one'), options)).toMatchObject({
    sourceRef: 'one',
  })
})

test('a caller that waits for another can be aborted', async () => {
  const root = tempDir()
  const [one, two] = await Promise.all([openStore({ root }), openStore({ root })])
  const stop = new AbortController()
  const begun = Promise.withResolvers<void>()
  const mayEnd = Promise.withResolvers<void>()
  const first = one.singleflight(
    sha256('key one'),
    async () => {
      begun.resolve()
      await mayEnd.promise
      return storeImage(one, 'one')
    },
    { onWait: () => undefined },
  )
  await begun.promise
  const second = two.singleflight(sha256('key one'), () => storeImage(two, 'one'), {
    signal: stop.signal,
    onWait: () => stop.abort(new Error('enough')),
  })
  await expect(second).rejects.toThrow('enough')
  mayEnd.resolve()
  expect((await first).sourceRef).toBe('one')
})

test('remains of a crash are not an image and do not get in the way', async () => {
  const store = await openStore()
  writeFileSync(join(await store.stage(), 'rootfs.ext4'), 'half')
  await storeImage(store, 'one', 'base')
  const again = await ImageStore.open({ root: store.root, pinnedDigests: () => Promise.resolve(new Set()) })
  expect((await again.list()).images).toHaveLength(1)
  expect(readdirSync(blobsOf(store)).filter((name) => name.endsWith('.tmp'))).toHaveLength(1)
})
