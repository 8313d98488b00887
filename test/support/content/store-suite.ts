import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { beforeAll, describe, expect, test } from 'vitest'
import type { OpenedObject, Store } from '../../../src/content/store/store.ts'
import { rounds } from '../rounds.ts'
import { tempDir } from '../temp-dir.ts'

/** Names that a file system, a URL or a signature could misinterpret. */
const ODD_KEYS = [
  'a b/c d.html',
  'plus+plus.html',
  'percent%20.html',
  'percent%.html',
  'ünï/日本語.html',
  'emoji-🎉.txt',
  'quote\'and"double.html',
  'amp&semi;equals=.html',
  'hash#and?query.html',
  'star*[brackets](x).html',
  'tilde~dollar$at@.html',
  '__proto__/constructor',
]

/** Tests the behavior of every store. @param many more objects than fit a page of its lists */
export function storeSuite(name: string, open: () => Promise<Store>, many: number): void {
  describe(`store ${name}`, () => {
    let store: Store
    beforeAll(async () => {
      store = await open()
    })
    const put = (key: string, text: string): Promise<void> =>
      store.write(key, Buffer.from(text), { contentType: 'text/html' })
    const get = async (key: string): Promise<string> => (await buffer((await opened(key)).body)).toString()
    const opened = async (key: string): Promise<OpenedObject> => {
      const object = await store.open(key)
      if (typeof object === 'string') throw new Error(`${key} is ${object}`)
      return object
    }

    test('an object is read unchanged, with size, date and ETag', async () => {
      const beforeMs = Date.now()
      await put('one/a.html', 'hello')
      const object = await opened('one/a.html')
      expect(object).toMatchObject({ key: 'one/a.html', size: 5 })
      expect(object.etag).toMatch(/^"[^"]+"$/)
      // A store's clock may differ from ours, and its dates may be in whole seconds.
      expect(object.lastModifiedMs).toBeGreaterThan(beforeMs - 10_000)
      expect(object.lastModifiedMs).toBeLessThan(Date.now() + 10_000)
      expect((await buffer(object.body)).toString()).toBe('hello')
    })

    test('an empty object exists', async () => {
      await put('one/empty', '')
      expect(await get('one/empty')).toBe('')
    })

    test('a missing object is missing, and so is a prefix of an existing one', async () => {
      await put('dir/sub/x', 'x')
      expect(await store.open('dir/none')).toBe('missing')
      expect(await store.open('dir/sub')).toBe('missing')
      expect(await store.open('dir/sub/x/below')).toBe('missing')
    })

    test('different content has a different ETag, and the same object is unchanged', async () => {
      await put('etag', 'first')
      const { etag, body } = await opened('etag')
      body.destroy()
      expect(await store.open('etag', { ifNoneMatch: etag })).toBe('unchanged')
      await put('etag', 'other')
      expect(await store.open('etag', { ifMatch: etag })).toBe('changed')
      const second = await opened('etag')
      expect(second.etag).not.toBe(etag)
      expect((await buffer(second.body)).toString()).toBe('other')
    })

    test.each([
      [0, 0, '0'],
      [2, 4, '234'],
      [9, 9, '9'],
      [0, 9, '0123456789'],
    ])('range %i-%i is exactly that', async (first, last, expected) => {
      await put('range', '0123456789')
      const object = await store.open('range', { range: { first, last } })
      if (typeof object === 'string') throw new Error(object)
      expect(object.size).toBe(10)
      expect((await buffer(object.body)).toString()).toBe(expected)
    })

    test.each(ODD_KEYS)('O4 key %s is written, listed, read and removed', async (key) => {
      await put(`odd/${key}`, key)
      expect(await get(`odd/${key}`)).toBe(key)
      const listed: string[] = []
      for await (const { key: found } of store.list('odd/')) listed.push(found)
      expect(listed).toContain(`odd/${key}`)
      await store.remove(`odd/${key}`)
      expect(await store.open(`odd/${key}`)).toBe('missing')
    })

    test.each([
      '../x',
      'a/../../x',
      'a/./b',
      'a//b',
      '/a',
      'a/',
      'a\\b',
      'a\0b',
      'a\nb',
      '%2e%2e/x',
      'a/%2E./x',
      'x'.repeat(1025),
    ])('O4 key %j is refused', async (key) => {
      expect(await store.open(key)).toBe('missing')
      await expect(put(key, 'x')).rejects.toMatchObject({ code: 'PUBLISH_INVALID' })
    })

    test('names below a prefix are those of its folders', async () => {
      for (const key of ['names/b/x', 'names/a/x/y', 'names/c c/z', 'names/file', 'namesake/x'])
        await put(key, 'x')
      expect((await store.listNames('names/')).toSorted()).toEqual(['a', 'b', 'c c'])
      expect(await store.listNames('nothing/')).toEqual([])
    })

    test(`a list of ${many} objects is complete`, { timeout: 60_000 }, async () => {
      const names = Array.from({ length: many }, (_, i) => `many/${i}/x`)
      const rest = names.values()
      await Promise.all(
        Array.from({ length: 32 }, async () => {
          for (const key of rest) await put(key, 'x')
        }),
      )
      const listed: string[] = []
      for await (const { key } of store.list('many/')) listed.push(key)
      expect(listed.toSorted()).toEqual(names.toSorted())
      expect(await store.listNames('many/')).toHaveLength(many)
    })

    test('a file is streamed to the store and read back unchanged', async () => {
      const bytes = randomBytes(9_000_001)
      const file = join(tempDir(), 'large')
      writeFileSync(file, bytes)
      await store.write('large', { file, size: bytes.length }, { contentType: 'application/octet-stream' })
      expect((await buffer((await opened('large')).body)).equals(bytes)).toBe(true)
    })

    test('an abandoned body blocks nothing', async () => {
      await store.write('unread', Buffer.alloc(4_000_000), { contentType: 'text/plain' })
      for (let i = 0; i < 100; i++) (await opened('unread')).body.on('error', () => undefined).destroy()
      expect(await get('range')).toBe('0123456789')
    })

    test('an object is replaced only if it still has the given ETag, or is still missing', async () => {
      const replace = (text: string, etag?: string) =>
        store.replace('if/x', Buffer.from(text), etag, { contentType: 'text/html' })
      const etagOf = async (): Promise<string> => {
        const { body, etag } = await opened('if/x')
        body.destroy()
        return etag
      }
      expect(await replace('never', '"0123456789abcdef0123456789abcdef"')).toBe('changed')
      expect(await store.open('if/x')).toBe('missing')
      expect(await replace('first')).toBe('written')
      expect(await replace('second')).toBe('changed')
      const first = await etagOf()
      expect(await replace('second', first)).toBe('written')
      expect(await replace('third', first)).toBe('changed')
      expect(await get('if/x')).toBe('second')
      const second = await etagOf()
      await store.remove('if/x')
      expect(await replace('third', second)).toBe('changed')
      expect(await replace('third')).toBe('written')
      expect(await get('if/x')).toBe('third')
    })

    test('of many conditional writes at the same time exactly one succeeds', async () => {
      for (let round = 0; round < rounds(2, 10); round++) {
        const found = await store.open('if/race')
        if (typeof found !== 'string') found.body.destroy()
        const etag = typeof found === 'string' ? undefined : found.etag
        const texts = Array.from({ length: 8 }, (_, i) => `${round} ${i}`)
        const outcomes = await Promise.all(
          texts.map((text) =>
            store.replace('if/race', Buffer.from(text), etag, { contentType: 'text/plain' }),
          ),
        )
        const written = texts.filter((_, i) => outcomes[i] === 'written')
        expect(written).toEqual([await get('if/race')])
      }
    })

    test('an invalid key is not replaced', async () => {
      const replacing = store.replace('../x', Buffer.from('x'), undefined, { contentType: '' })
      await expect(replacing).rejects.toMatchObject({ code: 'PUBLISH_INVALID' })
    })

    test('removing a missing object succeeds', async () => {
      await expect(store.remove('never/was')).resolves.toBeUndefined()
    })
  })
}
