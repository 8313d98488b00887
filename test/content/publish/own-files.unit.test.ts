import { linkSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { contentSchema } from '../../../src/content/config-schema.ts'
import { loadContentConfig, ownPaths } from '../../../src/content/config.ts'
import { readManifest } from '../../../src/content/publication/stored-manifest.ts'
import { publish, type PublishDeps, type PublishRequest } from '../../../src/content/publish/publish.ts'
import { createSecret } from '../../../src/content/session/service-token.ts'
import { openStore } from '../../../src/content/store/open-store.ts'
import { environmentKeys } from '../../../src/lib/config/environment.ts'
import { tempDir } from '../../support/temp-dir.ts'

/** The configuration of the reported case, beside the page. */
const SETTINGS = {
  store: { root: 'store' },
  session: { file: 'sessions.db' },
  reads: { file: 'reads.jsonl' },
  search: { dir: 'search' },
}

function write(folder: string, paths: readonly string[]): void {
  for (const path of paths) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), path)
  }
}

/** A folder with a page and a server's configuration, published by its command line. */
function server(settings: object = SETTINGS, environment: Readonly<Record<string, string>> = {}) {
  const dir = tempDir()
  const file = join(dir, 'docs.yaml')
  write(dir, ['index.html'])
  writeFileSync(file, stringify(settings))
  const run = async (request: Partial<PublishRequest> = {}, deps: Partial<PublishDeps> = {}) => {
    // The path of a flag may be relative.
    const all = { HOME: join(dir, 'home'), ...environment }
    const loaded = loadContentConfig(all, { file: relative(process.cwd(), file) })
    const store = await openStore(loaded.config.store)
    const result = await publish(
      { folder: dir, repo: 'self', deletes: false, ...request },
      { store, nowMs: Date.now(), memoryDir: loaded.config.hashDir, own: ownPaths(loaded, all), ...deps },
    )
    const { manifest } = await readManifest(store, 'repos/self/')
    const published = [...manifest.files.values()].map(({ path }) => path)
    return { ...result, published: published.filter((path) => path !== '_search.json') }
  }
  return { dir, run }
}

test('the files of the server beside a page are left out and listed', async () => {
  const { dir, run } = server()
  const beside = ['sessions.db', 'sessions.db-wal', 'sessions.db-shm', 'sessions.db-journal']
  const logs = ['reads.jsonl', 'reads.jsonl.1', 'reads.jsonl.27', 'reads.jsonl.lock']
  write(dir, [...beside, ...logs, 'docs.yaml~', 'docs.yaml.bak', 'search/0123456789abcdef.db-wal'])
  // The second run has the hashes and the store of the first in the folder.
  for (const _ of [1, 2])
    expect(await run()).toMatchObject({ published: ['index.html'], likelySecrets: [], withdrawn: [] })
  expect((await run()).leftOut).toEqual([
    { path: 'docs.yaml', use: 'configuration' },
    { path: 'docs.yaml.bak', use: 'configuration' },
    { path: 'docs.yaml~', use: 'configuration' },
    { path: 'home/.local/share/content-server/hashes', use: 'cache of hashes' },
    ...logs.map((path) => ({ path, use: 'reads.file' })),
    { path: 'search', use: 'search.dir' },
    ...beside.toSorted().map((path) => ({ path, use: 'session.file' })),
    { path: 'store', use: 'store.root' },
  ])
})

/** Paths that the schema calls a file or folder. */
const pathKeys = environmentKeys('CONTENT', contentSchema).filter(({ node }) =>
  /^(?:file|folder) of /.test((node as { readonly description?: string }).description ?? ''),
)

test('the schema has settings with paths', () => {
  expect(pathKeys.map(({ path }) => path.join('.'))).toEqual([
    'store.root',
    'reads.file',
    'session.file',
    'search.dir',
  ])
})

test.each([...pathKeys.map(({ variable }) => variable), 'CONTENT_SERVER_TOKEN_FILE'])(
  'the path in %s is not published',
  async (variable) => {
    // The path goes through a link to a folder inside the published one.
    const name = join(tempDir(), 'link')
    const { dir, run } = server({ store: { root: tempDir() } }, { [variable]: join(name, 'own') })
    write(join(dir, 'inside'), ['other', variable.endsWith('FILE') ? 'own' : 'own/deep/file'])
    symlinkSync(join(dir, 'inside'), name)
    const { published, leftOut } = await run()
    expect(published).toEqual(['index.html', 'inside/other'])
    expect(leftOut.map(({ path }) => path)).toEqual(['docs.yaml', 'inside/own'])
  },
)

test('other names of the files of the server are not published', async () => {
  const outside = tempDir()
  const { dir, run } = server({ ...SETTINGS, session: { file: join(outside, 'link.db') } })
  write(outside, ['real.db'])
  symlinkSync(join(outside, 'real.db'), join(outside, 'link.db'))
  linkSync(join(outside, 'real.db'), join(dir, 'page.bin'))
  linkSync(join(dir, 'docs.yaml'), join(dir, 'DOCS.YAML'))
  write(outside, ['real.db-wal'])
  linkSync(join(outside, 'real.db-wal'), join(dir, 'wal.bin'))
  symlinkSync(join(outside, 'real.db'), join(dir, 'shown.db'))
  const { published, leftOut, skipped } = await run()
  expect([published, skipped]).toEqual([['index.html'], ['shown.db']])
  expect(leftOut.map(({ path }) => path)).toEqual(
    expect.arrayContaining(['DOCS.YAML', 'docs.yaml', 'page.bin', 'wal.bin']),
  )
})

test('a folder inside the store is refused, by any of its names, and one beside it is not', async () => {
  const { dir, run } = server({ ...SETTINGS, store: { root: '.' }, search: { dir: 'index/search' } })
  write(dir, ['repos/self/old/page.html', 'site/index.html', 'index/search/x', 'index/search/y/z'])
  symlinkSync(join(dir, 'repos/self/old'), join(dir, 'shortcut'))
  for (const folder of ['.', 'repos', 'repos/self/old', 'shortcut'])
    await expect(run({ folder: join(dir, folder) })).rejects.toMatchObject({
      code: 'PUBLISH_INVALID',
      message: expect.stringMatching(
        /cannot be published: the server uses \/.*\(store\.root\); publish another/,
      ),
    })
  await expect(run({ folder: join(dir, 'index/search') })).rejects.toThrow('(search.dir)')
  expect((await run({ folder: join(dir, 'site') })).published).toEqual(['index.html'])
})

test('the store is left out for callers that name nothing else', async () => {
  const { run } = server({ store: { root: 'store' } })
  await run()
  const { published } = await run({}, { own: [], memoryDir: join(tempDir(), 'hashes') })
  expect(published.filter((path) => path.startsWith('store'))).toEqual([])
})

test('a file with a service token is left out, except on pages', async () => {
  const { dir, run } = server()
  const token = createSecret()
  writeFileSync(join(dir, 'secret.json'), JSON.stringify({ name: 'ci', token }))
  writeFileSync(join(dir, 'token'), `${token}\n`)
  writeFileSync(join(dir, 'example.html'), token)
  writeFileSync(join(dir, 'other.txt'), `${token}A ${token.slice(1)} cst_${'x'.repeat(42)}`)
  const { published, leftOut } = await run()
  expect(published).toEqual(['example.html', 'index.html', 'other.txt'])
  expect(leftOut.filter(({ use }) => use === 'service token').map(({ path }) => path)).toEqual([
    'secret.json',
    'token',
  ])
})

test('what an earlier version of this program published of the server is withdrawn, and nothing else', async () => {
  const { dir, run } = server()
  write(dir, ['sessions.db', 'old.html', 'search/0.db'])
  const before = await run({}, { own: [], memoryDir: join(tempDir(), 'hashes') })
  expect(before.published).toEqual(['docs.yaml', 'index.html', 'old.html', 'search/0.db', 'sessions.db'])
  renameSync(join(dir, 'old.html'), join(tempDir(), 'old.html'))
  expect(await run()).toMatchObject({
    published: ['index.html', 'old.html'],
    deleted: 3,
    withdrawn: ['docs.yaml', 'search', 'sessions.db'],
  })
  expect((await run()).withdrawn).toEqual([])
})

test('everything is listed once, before anything is sent', async () => {
  const { dir, run } = server()
  write(dir, ['prod.env', 'keys/id_ed25519'])
  const seen: unknown[] = []
  await run(
    {},
    {
      onListed: ({ leftOut, likelySecrets }) => seen.push([leftOut.map(({ path }) => path), likelySecrets]),
      onProgress: () => seen.push('sent'),
    },
  )
  expect(seen[0]).toEqual([
    ['docs.yaml', 'store'],
    ['keys/id_ed25519', 'prod.env'],
  ])
  expect(new Set(seen.slice(1))).toEqual(new Set(['sent']))
})

test('a folder with nothing but the files of the server is refused', async () => {
  const { dir, run } = server()
  renameSync(join(dir, 'index.html'), join(tempDir(), 'index.html'))
  await expect(run()).rejects.toThrow('has no files to publish')
})
