import { createWriteStream } from 'node:fs'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { isFault } from '../../lib/errors/fault.ts'
import { fault } from '../errors.ts'
import { contentKey, MANIFEST_FILE, type Published } from '../publication/manifest.ts'
import { readManifest, writeManifest } from '../publication/stored-manifest.ts'
import { isRepoName, META_FILE, parseMeta, type Repo } from '../repo/meta.ts'
import { REPOS } from '../repo/repo-list.ts'
import { latestOf } from '../repo/versions.ts'
import { formatIndex, INDEX_FILE, type IndexedPage } from '../search/search-index.ts'
import type { Store } from '../store/store.ts'
import { checkAliases } from './alias.ts'
import { checkRedirects } from './check-redirects.ts'
import { HashMemory } from './hash-memory.ts'
import { hashOf, listFolder, type LocalFile } from './list-folder.ts'
import { absentPaths, findUnchanged, isSameManifest, nextManifest } from './next-manifest.ts'
import { listContents, MAX_TEXT_BYTES, missingContents, sendContents } from './send-contents.ts'
import { readMeta, writeMeta } from '../repo/stored-meta.ts'
import { removeUnfinished, sweepRetired } from './sweep.ts'

const PARALLEL = 16
/** Files that the publisher writes; files of these names in the folder are ignored. */
const OWN = new Set([META_FILE, MANIFEST_FILE, INDEX_FILE])
/** Age from which an unfinished write belongs to a run that was killed. */
const DEAD_MS = 3_600_000
/** How long objects that are no longer published are kept, at least. */
const KEPT_MS = 24 * 3_600_000

/** A folder to publish, with its metadata. */
export interface PublishRequest {
  readonly folder: string
  /** Name of the repository on the site. */
  readonly repo: string
  readonly version?: string | undefined
  /** Further names of the version; each is taken from the version that had it. */
  readonly aliases?: readonly string[] | undefined
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
  /** Number of rules in the file of redirects. */
  readonly redirects: number
  /** Pages, among those sent, with a link that begins with a slash and is therefore broken below the base path. */
  readonly rootLinks: readonly RootLink[]
}

/** The first such link of a page. */
interface RootLink {
  readonly path: string
  readonly link: string
}

/** Dependencies of a publish. */
export interface PublishDeps {
  readonly store: Store
  readonly nowMs: number
  /** Time after which servers no longer read an earlier publication: their `cache.ttl`. */
  readonly ttlMs?: number
  /** Folder of the hashes of earlier runs, a cache. Without it all files are read. */
  readonly memoryDir?: string
  readonly onProgress?: (done: number, total: number) => void
}

/**
 * Publishes a folder as a repository or a version of one. Readers get all files of the earlier publication until the
 * manifest is replaced, and then all of the new one: contents are sent under their hashes before, and deleted long
 * after no publication uses them. `_meta.json` follows, so that the site lists only what is complete. An
 * interrupted publish changes nothing or everything; repeated, it sends only what is missing.
 *
 * @throws PUBLISH_INVALID when the folder or a name in the request cannot be published
 */
export async function publish(request: PublishRequest, deps: PublishDeps): Promise<PublishResult> {
  checkNames(request)
  const { store, nowMs, ttlMs = 0 } = deps
  const root = `${REPOS}${request.repo}/`
  const target = request.version === undefined ? root : `${root}${request.version}/`
  const memory =
    deps.memoryDir === undefined ? undefined : await HashMemory.open(deps.memoryDir, request.folder)
  const startedMs = Date.now()
  const { files: found, skipped } = await listFolder(request.folder, memory)
  const files = found.filter(({ path }) => !OWN.has(path))
  if (files.length === 0) throw fault('PUBLISH_INVALID', `the folder ${request.folder} has no files`)
  await checkAliases(request, store, files)
  const redirects = await checkRedirects(files)
  const { manifest: before, etag } = await readManifest(store, target)
  const there = await listContents(store, target)
  const missing = missingContents(files, there)
  try {
    await sendContents(store, target, missing, (done) => deps.onProgress?.(done, missing.length))
  } catch (error) {
    // A remembered hash that is wrong must not fail the next run too.
    const isWrong = isFault(error) && error.code === 'PUBLISH_INVALID'
    await memory?.remember(isWrong ? [] : found, startedMs)
    throw error
  }
  // Not earlier: its file may be in the folder, and would change before it is sent.
  await memory?.remember(found, startedMs)

  const gone = request.deletes ? absentPaths(before, files) : []
  const searchable = files.filter((file) => isPage(file) && !isErrorPage(file))
  const indexed = searchable.filter(({ size }) => size <= MAX_TEXT_BYTES)
  const partlySearched: string[] = []
  const rootLinks: RootLink[] = []
  const isIndexed =
    indexed.every(({ path, sha256 }) => before.files.get(path)?.sha256 === sha256) &&
    !gone.some((path) => isPage({ path }))
  const index = isIndexed ? findUnchanged(before, INDEX_FILE, there) : undefined
  const indexFile =
    index ?? (await sendIndex(store, target, readPages(indexed, { partlySearched, rootLinks }), there))
  const next = nextManifest({ before, files, index: indexFile, deletes: request.deletes, there, nowMs })
  if (etag === undefined || !isSameManifest(before, next)) await writeManifest(store, target, next)
  await updateMeta(request, deps, root)
  await removeUnfinished(store, target, [...OWN, ...files.map(({ path }) => path), ...gone], nowMs - DEAD_MS)
  await sweepRetired(store, target, next, nowMs - Math.max(KEPT_MS, 2 * ttlMs))
  return {
    repo: request.repo,
    version: request.version,
    uploaded: missing.length,
    unchanged: files.length - missing.length,
    deleted: gone.length,
    pages: indexed.length,
    bytes: missing.reduce((sum, { size }) => sum + size, 0),
    skipped,
    unsearched: searchable.filter(({ size }) => size > MAX_TEXT_BYTES).map(({ path }) => path),
    partlySearched,
    redirects,
    rootLinks,
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

function isPage({ path }: Pick<LocalFile, 'path'>): boolean {
  return /\.html?$/i.test(path)
}

/** Error pages are not searched either. */
function isErrorPage({ path }: LocalFile): boolean {
  return /(?:^|\/)404\.html$/.test(path)
}

/** Findings about pages while they are read. */
interface PageFindings {
  readonly partlySearched: string[]
  readonly rootLinks: RootLink[]
}

/** Reads the text of pages, a few at a time. @param findings receives what is wrong with them */
async function* readPages(
  files: readonly LocalFile[],
  { partlySearched, rootLinks }: PageFindings,
): AsyncGenerator<IndexedPage> {
  // Loaded here because servers do not need the parser.
  const { readPageText } = await import('../search/page-text.ts')
  for (let first = 0; first < files.length; first += PARALLEL) {
    const pages = files.slice(first, first + PARALLEL).map(async ({ path, file }) => ({
      path,
      ...readPageText(await readFile(file, 'utf8')),
    }))
    for (const page of await Promise.all(pages)) {
      const { path, isCut, rootLink } = page
      if (isCut) partlySearched.push(path)
      if (rootLink !== undefined) rootLinks.push({ path, link: rootLink })
      yield page
    }
  }
}

/**
 * Sends the index, unless the store has the same. It is written to a temporary file first: the text of a large site
 * does not fit into memory.
 */
async function sendIndex(
  store: Store,
  target: string,
  pages: AsyncIterable<IndexedPage>,
  there: ReadonlySet<string>,
): Promise<Omit<Published, 'modified'>> {
  const folder = await mkdtemp(join(tmpdir(), 'content-publish-'))
  try {
    const file = join(folder, INDEX_FILE)
    await pipeline(formatIndex(pages), createWriteStream(file))
    const [{ size }, sha256] = [await stat(file), await hashOf(file)]
    const key = contentKey(sha256)
    if (!there.has(key)) await store.write(target + key, { file, size }, { contentType: 'application/json' })
    return { path: INDEX_FILE, size, sha256, compressed: false }
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
  const latest = version === undefined ? old.latest : latestOf(versions ?? [])
  const aliases = new Map(old.aliases)
  if (version !== undefined) for (const alias of request.aliases ?? []) aliases.set(alias, version)
  const meta: Repo = {
    name: request.repo,
    lastPublished: new Date(nowMs).toISOString(),
    ...(description !== undefined && { description }),
    ...(source !== undefined && { repo: source }),
    ...(url !== undefined && { url }),
    ...(versions !== undefined && { versions }),
    ...(latest !== undefined && { latest }),
    ...(aliases.size > 0 && { aliases }),
  }
  await writeMeta(store, root, meta)
}
