import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { readManifest } from '../../../src/content/publication/stored-manifest.ts'
import { publish, type PublishRequest } from '../../../src/content/publish/publish.ts'
import { unpublish } from '../../../src/content/publish/unpublish.ts'
import { FsStore } from '../../../src/content/store/fs-store.ts'
import type { Store } from '../../../src/content/store/store.ts'
import { startContent } from '../../support/content/content-server.ts'
import { tempDir } from '../../support/temp-dir.ts'

const SITE = {
  'index.html': '<title>Guide</title><nav>menu</nav><main><h1>Welcome</h1><p>alpha beta</p></main>',
  'deep/page.html': `<h1>Deep</h1><p>gamma delta</p>${'<p>filler</p>'.repeat(300)}`,
  'app.js': 'run()',
  'image.png': Buffer.from([1, 2, 3]),
}

const NO_CACHE = { settings: { cache: { ttl: '0s', negative_ttl: '0s' } } }

function write(folder: string, files: Readonly<Record<string, string | Uint8Array>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
}

function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

function publisher(store: Store, folder = tempDir()) {
  write(folder, SITE)
  const run = (more: Partial<PublishRequest> = {}) =>
    publish(
      { folder, repo: 'guide', deletes: false, ...more },
      { store, nowMs: Date.parse('2026-11-21T17:00:00Z') },
    )
  return { folder, run }
}

test('a published site is served, listed and found', async () => {
  const { ask, store } = await startContent()
  const { run } = publisher(store)
  expect(await run({ description: 'How to', source: 'a/b', url: 'https://x.example' })).toMatchObject({
    uploaded: 4,
    unchanged: 0,
    deleted: 0,
    pages: 2,
  })
  expect(await (await ask('/_api/repos')).json()).toEqual([
    {
      name: 'guide',
      description: 'How to',
      last_published: '2026-11-21T17:00:00.000Z',
      repo: 'a/b',
      url: 'https://x.example',
    },
  ])
  expect((await ask('/repos/guide/image.png')).headers.get('content-type')).toBe('image/png')
  const found = async (q: string) =>
    ((await (await ask(`/_api/search?q=${q}`)).json()) as { hits: { url: string; title: string }[] }).hits
  expect(await found('gamma')).toMatchObject([{ url: '/repos/guide/deep/page.html', title: 'Deep' }])
  expect(await found('alph')).toMatchObject([{ url: '/repos/guide/', title: 'Welcome' }])
  expect(await found('menu')).toEqual([])
  expect(await (await ask('/?q=gamma')).text()).toContain('/repos/guide/deep/page.html')
  expect((await ask('/_api/search?limit=0')).status).toBe(400)
})

test('only changed files are sent again, and those missing in the store', async () => {
  const store: Store = new FsStore(tempDir())
  const { folder, run } = publisher(store)
  await run({ description: 'kept' })
  expect(await run()).toMatchObject({ uploaded: 0, unchanged: 4 })
  write(folder, { 'app.js': 'ran()' })
  expect(await run()).toMatchObject({ uploaded: 1, unchanged: 3 })
  await store.remove(`repos/guide/_objects/${sha256(SITE['image.png'])}`)
  await store.remove(`repos/guide/_objects/${sha256(SITE['deep/page.html'])}.br`)
  expect(await run()).toMatchObject({ uploaded: 2, unchanged: 2 })
})

test('--delete removes only what an earlier publish has sent', async () => {
  const { ask, store } = await startContent({}, NO_CACHE)
  const { folder, run } = publisher(store)
  await run()
  await run({ version: '1.0' })
  await store.write('repos/guide/foreign.txt', Buffer.from('x'), { contentType: '' })
  rmSync(join(folder, 'deep'), { recursive: true })
  const statuses = () =>
    Promise.all(
      ['deep/page.html', 'foreign.txt', '1.0/deep/page.html'].map(
        async (path) => (await ask(`/repos/guide/${path}`)).status,
      ),
    )
  expect(await run()).toMatchObject({ deleted: 0 })
  expect(await statuses()).toEqual([200, 200, 200])
  expect(await run({ deletes: true })).toMatchObject({ deleted: 1 })
  expect(await statuses()).toEqual([404, 200, 200])
})

test('the manifest is written after all contents, and _meta.json last', async () => {
  const inner: Store = new FsStore(tempDir())
  const { run } = publisher(inner)
  const order: string[] = []
  const write0 = inner.write.bind(inner)
  inner.write = (key, ...rest) => {
    order.push(key)
    return write0(key, ...rest)
  }
  await run()
  expect(order.slice(-2)).toEqual(['repos/guide/_files.json', 'repos/guide/_meta.json'])
})

test('Y9 a later publish removes unfinished writes of killed runs, but nothing that may be running or foreign', async () => {
  const dir = tempDir()
  const store = new FsStore(dir)
  const { folder, run } = publisher(store)
  await run()
  const at = (name: string) => join(dir, 'repos/guide', name)
  const hour = 3_600_000
  const nowMs = Date.now()
  const leave = (name: string, ageMs: number): void => {
    writeFileSync(at(name), 'half')
    utimesSync(at(name), (nowMs - ageMs) / 1_000, (nowMs - ageMs) / 1_000)
  }
  const temporary = '.0123456789ab.tmp'
  const content = `_objects/${sha256('x')}`
  const dead = [content, `${content}.br`, '_files.json', 'app.js'].map((name) => name + temporary)
  const kept = [`_objects/${sha256('y')}${temporary}`, `foreign.txt${temporary}`, 'app.js.tmp']
  for (const name of dead) leave(name, 2 * hour)
  for (const name of kept) leave(name, name.startsWith('_objects') ? 0 : 2 * hour)
  await publish({ folder, repo: 'guide', deletes: false }, { store, nowMs })
  expect([...dead, ...kept].filter((name) => existsSync(at(name)))).toEqual(kept)
})

test(
  'objects of other programs at keys that publishing once used are hidden, but not deleted',
  { tags: ['long'] },
  async () => {
    const { ask, store } = await startContent({}, NO_CACHE)
    const { folder, run } = publisher(store)
    const files = { 'old.html': { sha256: sha256('old'), size: 3, compressed: false } }
    await store.write('repos/guide/old.html', Buffer.from('old'), { contentType: '' })
    const manifest = Buffer.from(JSON.stringify({ format: 1, files }))
    await store.write('repos/guide/_files.json', manifest, { contentType: '' })
    await run()
    expect(await (await ask('/repos/guide/old.html')).text()).toBe('old')
    await run({ deletes: true })
    expect((await ask('/repos/guide/old.html')).status).toBe(404)
    await store.write('repos/guide/old.html', Buffer.from('by hand'), { contentType: '' })
    const publishAt = (nowMs: number) => publish({ folder, repo: 'guide', deletes: true }, { store, nowMs })
    await publishAt(Date.parse('2026-11-21T17:00:00Z') + 25 * 3_600_000)
    expect(await (await ask('/repos/guide/old.html')).text()).toBe('by hand')
  },
)

test('Y15 unchanged files are not read again, and any change is noticed', async () => {
  const store: Store = new FsStore(tempDir())
  const memoryDir = tempDir()
  const { folder } = publisher(store)
  const newestMs = Math.max(...Object.keys(SITE).map((path) => statSync(join(folder, path)).ctimeMs))
  const run = (nowMs = newestMs + 2_001) =>
    publish({ folder, repo: 'guide', deletes: false }, { store, nowMs, memoryDir })
  const file = join(folder, 'app.js')
  await run(newestMs)
  // Files that have just changed are not remembered.
  expect(readFileSync(join(memoryDir, sha256(folder)), 'utf8').split('\n')).toHaveLength(2)
  await run()
  const memory = readFileSync(join(memoryDir, sha256(folder)), 'utf8')
  expect(memory).toContain(`${sha256(SITE['app.js'])} app.js\n`)
  // The hash is taken from the memory: another one there is believed.
  const other = sha256('other')
  writeFileSync(join(memoryDir, sha256(folder)), memory.replaceAll(sha256(SITE['app.js']), other))
  await expect(run()).rejects.toThrow('changed while it was being published')
  // The same size and modification time, but a new time of change.
  const { atime, mtime } = statSync(file)
  writeFileSync(file, 'nur()')
  utimesSync(file, atime, mtime)
  expect(await run()).toMatchObject({ uploaded: 1 })
  writeFileSync(join(memoryDir, sha256(folder)), 'damaged')
  expect(await run()).toMatchObject({ uploaded: 0, unchanged: 4 })
})

test('versions are listed, and the repository redirects to the latest', async () => {
  const { ask, store } = await startContent()
  const { run } = publisher(store)
  await run({ version: '1.0' })
  await run({ version: '2.0' })
  expect(await (await ask('/_api/repos')).json()).toMatchObject([{ versions: ['2.0', '1.0'], latest: '2.0' }])
  expect((await ask('/repos/guide/')).headers.get('location')).toBe('/repos/guide/2.0/')
  const { hits } = (await (await ask('/_api/search?q=gamma')).json()) as { hits: { url: string }[] }
  expect(hits.map(({ url }) => url)).toEqual(['/repos/guide/2.0/deep/page.html'])
})

test('O4 links are not followed, and names that are not keys are reported', async () => {
  const dir = tempDir()
  writeFileSync(join(dir, 'secret'), 'secret')
  const store: Store = new FsStore(tempDir())
  const { folder, run } = publisher(store)
  symlinkSync(join(dir, 'secret'), join(folder, 'linked.txt'))
  symlinkSync(dir, join(folder, 'linked'))
  writeFileSync(join(folder, 'back\\slash'), 'x')
  const notText = (name: string) => Buffer.concat([Buffer.from(`${folder}/${name}`), Buffer.from([0xff])])
  writeFileSync(notText('bad'), 'x')
  mkdirSync(notText('dir'))
  expect((await run()).skipped).toEqual(['back\\slash', 'bad\ufffd', 'dir\ufffd', 'linked', 'linked.txt'])
  expect(await store.open('repos/guide/linked.txt')).toBe('missing')
})

test.each([
  { repo: '../x' },
  { repo: 'a/b' },
  { repo: '' },
  { repo: '.x' },
  { version: '..' },
  { source: 'x' },
  { url: 'javascript:x' },
])('O4 %j is refused before anything is written', async (more) => {
  const store: Store = new FsStore(tempDir())
  await expect(publisher(store).run(more)).rejects.toMatchObject({ code: 'PUBLISH_INVALID' })
  expect(await store.listNames('repos/')).toEqual([])
})

/** Returns all keys of a store. */
async function keysOf(store: Store): Promise<readonly string[]> {
  const keys: string[] = []
  for await (const { key } of store.list('')) keys.push(key)
  return keys.toSorted()
}

test('unpublish removes a repository with its versions, but keeps files from other sources', async () => {
  const store = new FsStore(tempDir())
  const { run } = publisher(store)
  await run({ repo: 'other' })
  const before = await keysOf(store)
  await run()
  await run({ version: '1.0' })
  await run({ version: '2.0' })
  await store.write('repos/guide/1.0/by-hand.html', Buffer.from('x'))
  const kept = ['repos/guide/1.0/by-hand.html']
  const result = await unpublish({ repo: 'guide' }, store)
  expect(result.kept).toEqual(kept)
  expect(await keysOf(store)).toEqual([...before, ...kept].toSorted())
  await expect(unpublish({ repo: 'guide' }, store)).rejects.toThrow('nothing is published as "guide"')
})

test('unpublish of a version keeps the others, and the newest of them becomes the latest', async () => {
  const { ask, store } = await startContent({}, NO_CACHE)
  const { run } = publisher(store)
  for (const version of ['1.0', '2.0', '3.0']) await run({ version })
  await unpublish({ repo: 'guide', version: '3.0' }, store)
  expect(await (await ask('/_api/repos')).json()).toMatchObject([{ versions: ['2.0', '1.0'], latest: '2.0' }])
  expect((await ask('/repos/guide/3.0/')).status).toBe(404)
  expect((await ask('/repos/guide/2.0/')).status).toBe(200)
  await unpublish({ repo: 'guide', version: '2.0' }, store)
  await unpublish({ repo: 'guide', version: '1.0' }, store)
  expect(await (await ask('/_api/repos')).json()).toEqual([])
  expect(await keysOf(store)).toEqual([])
})

test('repeating an interrupted unpublish completes it', async () => {
  const whole = new FsStore(tempDir())
  const { run } = publisher(whole)
  const removals = 9
  for (let allowed = 0; allowed < removals; allowed++) {
    await run()
    let left = allowed
    const store = new Proxy(whole, {
      get(target, name) {
        if (name === 'remove')
          return (key: string) =>
            left-- > 0 ? target.remove(key) : Promise.reject(new Error('the store fails'))
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    await unpublish({ repo: 'guide' }, store).catch(() => undefined)
    await unpublish({ repo: 'guide' }, whole).catch((error: unknown) =>
      expect(String(error)).toContain('nothing is published'),
    )
    expect(await keysOf(whole)).toEqual([])
  }
})

test('a file replaces the one that was published under another form of its name, and a left out one is withdrawn', async () => {
  const store = new FsStore(tempDir())
  const [composed, decomposed] = ['\u00e9t\u00e9', 'e\u0301te\u0301']
  const run = async (files: Readonly<Record<string, string>>, own: readonly string[] = []) => {
    const folder = tempDir()
    write(folder, { 'index.html': 'x', ...files })
    const result = await publish(
      { folder, repo: 'guide', deletes: false },
      { store, nowMs: 1, own: own.map((path) => ({ path: join(folder, path), use: 'session.file' })) },
    )
    const { manifest } = await readManifest(store, 'repos/guide/')
    return { ...result, paths: [...manifest.files.values()].map(({ path }) => path) }
  }
  const before = await run({ [`${decomposed}.html`]: 'old', [`${decomposed}/a.db`]: 'secret', 'e.css': 'x' })
  expect(before.paths).toContain(`${decomposed}.html`)
  const after = await run({ [`${composed}.html`]: 'new', [`${composed}/a.db`]: 'secret' }, [
    `${composed}/a.db`,
  ])
  expect(after.paths).toEqual(['_search.json', 'e.css', 'index.html', `${composed}.html`])
  expect(after).toMatchObject({ deleted: 2, withdrawn: [`${composed}/a.db`] })
  await expect(run({ [`${composed}.css`]: 'one', [`${decomposed}.css`]: 'two' })).rejects.toThrow(
    String.raw`"e\u0301te\u0301.css" and "\u00e9t\u00e9.css" are the same name in two forms of Unicode; rename or delete one`,
  )
})

test(
  'pages in declared character sets are sent, found, titled and converted as browsers decode them',
  { tags: ['long'] },
  async () => {
    const { ask, store } = await startContent()
    const { folder, run } = publisher(store)
    const legacy = (head: string, bytes: string): Buffer =>
      Buffer.from(`<!doctype html>${head}<title>${bytes}</title><h1>${bytes}</h1>`, 'latin1')
    write(folder, {
      'latin.html': legacy('<meta charset="iso-8859-1">', 'Gr\xf6\xdfe'),
      'russian.html': legacy(
        '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">',
        '\xca\xeb\xfe\xf7',
      ),
      'japanese.html': legacy('<meta charset=Shift_JIS>', '\x8e\xe8\x8f\x87'),
      'wide.html': Buffer.from('\ufeff<!doctype html><title>Weite</title><h1>Weite</h1>', 'utf16le'),
      'guessed.html': legacy('', 'B\xe4ren'),
      'wrong.html': legacy('<meta charset=utf-8>', 'Stra\xdfen'),
      'data.xml': Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><a>Gr\xf6\xdfe</a>', 'latin1'),
      'style.css': Buffer.from('@charset "ISO-8859-1"; h1::after{content:"\xf6"}', 'latin1'),
      'note.txt': Buffer.from('Gr\xf6\xdfe', 'latin1'),
      'new.txt': 'Größe',
    })
    expect((await run()).doubtfulCharsets).toEqual([
      { path: 'guessed.html', charset: null },
      { path: 'wrong.html', charset: 'utf-8' },
    ])
    const typeOf = async (path: string) => (await ask(`/repos/guide/${path}`)).headers.get('content-type')
    expect(await typeOf('latin.html')).toBe('text/html; charset=windows-1252')
    expect(await typeOf('russian.html')).toBe('text/html; charset=windows-1251')
    expect(await typeOf('japanese.html')).toBe('text/html; charset=shift_jis')
    expect(await typeOf('wide.html')).toBe('text/html; charset=utf-16le')
    expect(await typeOf('guessed.html')).toBe('text/html')
    expect(await typeOf('wrong.html')).toBe('text/html; charset=utf-8')
    expect(await typeOf('data.xml')).toMatch(/xml; charset=windows-1252$/)
    expect(await typeOf('style.css')).toBe('text/css; charset=windows-1252')
    expect(await typeOf('note.txt')).toBe('text/plain')
    expect(await typeOf('new.txt')).toBe('text/plain; charset=utf-8')
    for (const [path, title] of [
      ['latin', 'Größe'],
      ['russian', 'Ключ'],
      ['japanese', '手順'],
      ['wide', 'Weite'],
      ['guessed', 'Bären'],
    ] as const) {
      const found = await (await ask(`/_api/search?q=${encodeURIComponent(title)}`)).json()
      expect(found).toMatchObject({ total: 1, hits: [{ title, url: `/repos/guide/${path}.html` }] })
      const markdown = await ask(`/repos/guide/${path}.html.md`)
      expect(await markdown.text()).toBe(`# ${title}\n`)
    }
  },
)

test('the character set of a page that is too large for the cache is that of its beginning', async () => {
  const settings = { cache: { max_object_bytes: '10KiB' } }
  const { ask } = await startContent(
    {
      'repos/a/old.html': Buffer.from(`<meta charset=koi8-r>${'\xca'.repeat(20_000)}`, 'latin1'),
      'repos/a/new.html': `<p>${'ü'.repeat(20_000)}`,
      'repos/a/guessed.html': Buffer.from('\xfc'.repeat(20_000), 'latin1'),
    },
    { settings },
  )
  const typeOf = async (path: string) => (await ask(`/repos/a/${path}`)).headers.get('content-type')
  expect(await typeOf('old.html')).toBe('text/html; charset=koi8-r')
  expect(await typeOf('new.html')).toBe('text/html; charset=utf-8')
  expect(await typeOf('guessed.html')).toBe('text/html')
})
