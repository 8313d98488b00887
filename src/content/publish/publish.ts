import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { fault } from '../errors.ts'
import { contentTypeOf, isText } from '../page/content-type.ts'
import { isRepoName, META_FILE, parseMeta, type Repo } from '../repo/meta.ts'
import { mapConcurrently, REPOS } from '../repo/repo-list.ts'
import { formatIndex, INDEX_FILE, type IndexedPage } from '../search/search-index.ts'
import { type Store, isKey } from '../store/store.ts'
import {
  type Manifest,
  MANIFEST_FILE,
  objectsOf,
  type Published,
  readManifest,
  writeManifest,
} from './manifest.ts'
import { readMeta, writeMeta } from './stored-meta.ts'
import { createHash } from 'node:crypto'
import { join, relative, sep } from 'node:path'
import { messageOf } from '../../lib/errors/message.ts'

const PARALLEL = 16
const compressBrotli = promisify(brotliCompress)
const compressGzip = promisify(gzip)
/** Larger text is neither compressed nor searched. */
const MAX_TEXT_BYTES = 16 * 2 ** 20
const MIN_COMPRESSED_BYTES = 1_024
/** Takes half the time of the best quality, for 1 % more bytes. */
const BROTLI_QUALITY = 9
/** Files that the publisher writes; files of these names in the folder are ignored. */
const OWN = new Set([META_FILE, MANIFEST_FILE, INDEX_FILE])

/** A folder to publish, with its metadata. */
export interface PublishRequest {
  readonly folder: string
  /** Name of the repository on the site. */
  readonly repo: string
  readonly version?: string | undefined
  readonly description?: string | undefined
  /** owner/name */
  readonly source?: string | undefined
  readonly url?: string | undefined
  /** Whether to delete previously published files that are not in the folder. */
  readonly deletes: boolean
}

/** Result of a publish. */
export interface PublishResult {
  readonly repo: string
  readonly version: string | undefined
  readonly uploaded: number
  readonly unchanged: number
  readonly deleted: number
  readonly pages: number
  readonly bytes: number
  /** Paths that are not regular files or cannot be keys. */
  readonly skipped: readonly string[]
  /**
   * Pages that are too large for the search index; and pages, among those sent, of which only the first part is
   * indexed.
   */
  readonly unsearched: readonly string[]
  readonly partlySearched: readonly string[]
}

/** Dependencies of a publish. */
export interface PublishDeps {
  readonly store: Store
  readonly nowMs: number
  readonly onProgress?: (done: number, total: number) => void
}

/**
 * Publishes a folder as a repository or a version of one: first the changed files, then the index of its
 * pages, then the deletions, and last `_meta.json`, so that the site lists it only when it is complete.
 * Repeat an interrupted publish.
 */
export async function publish(request: PublishRequest, deps: PublishDeps): Promise<PublishResult> {
  checkNames(request)
  const { store } = deps
  const root = `${REPOS}${request.repo}/`
  const target = request.version === undefined ? root : `${root}${request.version}/`
  const { files: found, skipped } = await listFiles(request.folder)
  const files = found.filter(({ path }) => !OWN.has(path))
  if (files.length === 0) throw fault('PUBLISH_INVALID', `the folder ${request.folder} has no files`)
  const before = await readManifest(store, target)
  const there = new Map<string, number>()
  for await (const { key, size } of store.list(target)) there.set(key.slice(target.length), size)
  const changed = files.filter((file) => !isThere(file, before, there))
  const isSame = new Set(files.filter((file) => !changed.includes(file)))
  const gone = request.deletes ? obsoleteFrom(before, files, there) : []

  // After an interruption, files that were being written must not count as published.
  const kept = new Map([...before].filter(([path]) => !changed.some((file) => file.path === path)))
  if (changed.length > 0 && before.size > 0) await writeManifest(store, target, kept)
  const after = new Map<string, Published>(kept)
  let done = 0
  const upload = async (file: LocalFile): Promise<void> => {
    after.set(file.path, await uploadFile(store, target, file))
    deps.onProgress?.(++done, changed.length)
  }
  // A page must not appear before its resources.
  await mapConcurrently(
    PARALLEL,
    changed.filter((file) => !isPage(file)),
    upload,
  )
  await mapConcurrently(PARALLEL, changed.filter(isPage), upload)

  const partlySearched: string[] = []
  const searchable = files.filter((file) => isPage(file) && !isErrorPage(file))
  const indexed = searchable.filter(({ size }) => size <= MAX_TEXT_BYTES)
  if (changed.length > 0 || gone.length > 0 || !there.has(INDEX_FILE))
    await writeIndex(store, target, readPages(indexed, partlySearched))
  await mapConcurrently(PARALLEL, gone, (path) => store.remove(target + path))
  for (const path of gone) after.delete(path)
  if (changed.length > 0 || gone.length > 0 || before.size === 0) await writeManifest(store, target, after)
  await updateMeta(request, deps, root)
  return {
    repo: request.repo,
    version: request.version,
    uploaded: changed.length,
    unchanged: isSame.size,
    deleted: gone.length,
    pages: indexed.length,
    bytes: changed.reduce((sum, { size }) => sum + size, 0),
    skipped,
    unsearched: searchable.filter(({ size }) => size > MAX_TEXT_BYTES).map(({ path }) => path),
    partlySearched,
  }
}

function checkNames({ repo, version, source, url }: PublishRequest): void {
  const wants = 'must consist of letters, digits, ".", "_" and "-", and begin with a letter or digit'
  if (!isRepoName(repo)) throw fault('PUBLISH_INVALID', `the repository's name "${repo}" ${wants}`)
  if (version !== undefined && !isRepoName(version))
    throw fault('PUBLISH_INVALID', `the version "${version}" ${wants}`)
  // Metadata that cannot be read back must not be written.
  const meta = parseMeta(repo, Buffer.from(JSON.stringify({ repo: source, url })))
  if (source !== undefined && meta.repo === undefined)
    throw fault('PUBLISH_INVALID', `the source "${source}" must be owner/name`)
  if (url !== undefined && meta.url === undefined)
    throw fault('PUBLISH_INVALID', `the URL "${url}" must use http or https`)
}

function isPage({ path }: LocalFile): boolean {
  return /\.html?$/i.test(path)
}

function isThere(
  { path, sha256, size }: LocalFile,
  before: Manifest,
  there: ReadonlyMap<string, number>,
): boolean {
  const known = before.get(path)
  if (known?.sha256 !== sha256 || there.get(path) !== size) return false
  return !known.compressed || (there.has(`${path}.br`) && there.has(`${path}.gz`))
}

/** Returns only paths that an earlier publish wrote: files from other sources are left alone. */
function obsoleteFrom(
  before: Manifest,
  files: readonly LocalFile[],
  there: ReadonlyMap<string, number>,
): readonly string[] {
  const local = new Set(files.map(({ path }) => path))
  return [...before]
    .filter(([path]) => !local.has(path))
    .flatMap(objectsOf)
    .filter((path) => there.has(path) && !local.has(path))
}

async function uploadFile(store: Store, target: string, file: LocalFile): Promise<Published> {
  const { path, size, sha256 } = file
  const contentType = contentTypeOf(path)
  const key = target + path
  const compressed = isText(contentType) && size >= MIN_COMPRESSED_BYTES && size <= MAX_TEXT_BYTES
  await store.write(key, { file: file.file, size }, { contentType })
  if (!compressed) return { sha256, size, compressed }
  // Written after the object: an older compressed form belongs to the object's previous version.
  const bytes = await readFile(file.file)
  const params = { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY }
  const [brotli, gzipped] = await Promise.all([
    compressBrotli(bytes, { params }),
    compressGzip(bytes, { level: 9 }),
  ])
  await store.write(`${key}.br`, brotli, { contentType: 'application/octet-stream' })
  await store.write(`${key}.gz`, gzipped, { contentType: 'application/gzip' })
  return { sha256, size, compressed }
}

/** Error pages are not searched either. */
function isErrorPage({ path }: LocalFile): boolean {
  return /(?:^|\/)404\.html$/.test(path)
}

/** Reads the text of pages, a few at a time. @param cut receives the paths of pages with more text than is indexed */
async function* readPages(files: readonly LocalFile[], cut: string[]): AsyncGenerator<IndexedPage> {
  // Loaded here because servers do not need the parser.
  const { readPageText } = await import('../search/page-text.ts')
  for (let first = 0; first < files.length; first += PARALLEL) {
    const pages = files.slice(first, first + PARALLEL).map(async ({ path, file }) => ({
      path,
      ...readPageText(await readFile(file, 'utf8')),
    }))
    for (const page of await Promise.all(pages)) {
      if (page.isCut) cut.push(page.path)
      yield page
    }
  }
}

/** Writes the index to a temporary file first: the text of a large site does not fit into memory. */
async function writeIndex(store: Store, target: string, pages: AsyncIterable<IndexedPage>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'content-publish-'))
  try {
    const file = join(folder, INDEX_FILE)
    await pipeline(formatIndex(pages), createWriteStream(file))
    const { size } = await stat(file)
    await store.write(target + INDEX_FILE, { file, size }, { contentType: 'application/json' })
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function updateMeta(
  request: PublishRequest,
  { store, nowMs }: PublishDeps,
  root: string,
): Promise<void> {
  const old = await readMeta(store, request.repo, root)
  const { version, description = old.description, source = old.repo, url = old.url } = request
  const versions = version === undefined ? old.versions : [...new Set([version, ...(old.versions ?? [])])]
  const latest = version ?? old.latest
  const meta: Repo = {
    name: request.repo,
    lastPublished: new Date(nowMs).toISOString(),
    ...(description !== undefined && { description }),
    ...(source !== undefined && { repo: source }),
    ...(url !== undefined && { url }),
    ...(versions !== undefined && { versions }),
    ...(latest !== undefined && { latest }),
  }
  await writeMeta(store, root, meta)
}

/** A file to publish. */
interface LocalFile {
  /** Path relative to the folder, with slashes. */
  readonly path: string
  readonly file: string
  readonly size: number
  readonly sha256: string
}

/**
 * Returns the files of a folder with their hashes, by path. Does not follow links, so nothing outside is published.
 */
async function listFiles(
  folder: string,
): Promise<{ readonly files: readonly LocalFile[]; readonly skipped: readonly string[] }> {
  const skipped: string[] = []
  const files: LocalFile[] = []
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch((error: unknown) => {
    throw fault('PUBLISH_INVALID', `the folder ${folder} cannot be read: ${messageOf(error)}`, error)
  })
  await mapConcurrently(PARALLEL, entries, async (entry) => {
    if (entry.isDirectory()) return
    const file = join(entry.parentPath, entry.name)
    const path = relative(folder, file).split(sep).join('/')
    if (!entry.isFile() || !isKey(path)) {
      skipped.push(path)
      return
    }
    const { size } = await stat(file)
    files.push({ path, file, size, sha256: await hashOf(file) })
  })
  return { files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)), skipped: skipped.toSorted() }
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file, { highWaterMark: 256 * 1024 }))
    hash.update(chunk as Buffer)
  return hash.digest('hex')
}
