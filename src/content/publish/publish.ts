import { createWriteStream } from 'node:fs'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { isFault } from '../../lib/errors/fault.ts'
import { fault } from '../errors.ts'
import type { RuleMistake } from '../page/redirect-rules.ts'
import type { OwnPath } from '../own-path.ts'
import { contentKey } from '../publication/content-key.ts'
import { decodeText } from '../page/decode-text.ts'
import { KeySet } from '../publication/key-set.ts'
import { type Manifest, MANIFEST_FILE } from '../publication/manifest.ts'
import { changeManifest, EMPTY_MANIFEST, hasManifest, readManifest } from '../publication/stored-manifest.ts'
import { isRepoName, META_FILE, parseMeta, type Repo } from '../repo/meta.ts'
import { REPOS } from '../repo/repo-list.ts'
import { readMeta } from '../repo/stored-meta.ts'
import { formatIndex, INDEX_FILE, type IndexedPage } from '../search/search-index.ts'
import type { Store } from '../store/store.ts'
import { checkAliases } from './alias.ts'
import { isRootLink, LinkCheck } from './check-links.ts'
import { checkRedirects } from './check-redirects.ts'
import { HashMemory } from './hash-memory.ts'
import { hashOf, type LeftOut, listFolder, type Listing, type LocalFile, locationOf } from './list-folder.ts'
import { checkMeta, holdExpired, updateMeta } from './next-meta.ts'
import {
  absentPaths,
  arePublished,
  isSameManifest,
  type NextFile,
  nextManifest,
  storedIndex,
} from './next-manifest.ts'
import { type NextSite, openNextSite } from './next-site.ts'
import { listContents, MAX_TEXT_BYTES, missingContents, sendContents } from './send-contents.ts'
import { areReplacedBy, areWithin } from './removed-paths.ts'
import { keptMs, removeUnfinished, sweepRetired } from './sweep.ts'

const PARALLEL = 16
/** Files that the publisher writes; files of these names in the folder are ignored. */
const OWN = new Set([META_FILE, MANIFEST_FILE, INDEX_FILE])
/** Age from which an unfinished write belongs to a run that was killed. */
const DEAD_MS = 3_600_000
/** Index of a manifest that is not written. */
const NO_INDEX: NextFile = { path: INDEX_FILE, size: 0, sha256: '0'.repeat(64), compressed: false }
/** Each repetition needs another process that deletes files of the folder at that moment. */
const MAX_ATTEMPTS = 5

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
  /** Time after which the version expires; without it, it no longer does. */
  readonly expiresAfterMs?: number | undefined
  /** Whether to delete previously published files that are not in the folder. */
  readonly deletes: boolean
}

/** Result of a publish. */
export interface PublishResult {
  readonly repo: string
  readonly version: string | undefined
  /** End of the version in milliseconds since the epoch; undefined if it does not expire. */
  readonly expiresMs: number | undefined
  readonly uploaded: number
  readonly unchanged: number
  readonly deleted: number
  readonly pages: number
  readonly bytes: number
  /** Paths that are not regular files or cannot be keys. */
  readonly skipped: readonly string[]
  readonly leftOut: readonly LeftOut[]
  readonly likelySecrets: readonly string[]
  /** Paths that are left out, and whose files readers could read until now. */
  readonly withdrawn: readonly string[]
  /**
   * Pages that are too large for the search index; and pages, among those sent, of which only the first part is
   * indexed.
   */
  readonly unsearched: readonly string[]
  readonly partlySearched: readonly string[]
  /** Pages, among those sent, whose bytes are not in the encoding that browsers assume. */
  readonly doubtfulCharsets: readonly DoubtfulCharset[]
  /** Number of rules in the file of redirects. */
  readonly redirects: number
  /** Lines of that file that have no effect or contain a likely mistake, with the reason. */
  readonly idleRedirects: readonly RuleMistake[]
  /** Pages, among those sent, with a link that begins with a slash and at whose address nothing is published. */
  readonly rootLinks: readonly RootLink[]
}

/** A page, and the encoding that it declares; null if it declares none and is not in UTF-8. */
interface DoubtfulCharset {
  readonly path: string
  readonly charset: string | null
}

/** The first such link of a page. */
interface RootLink {
  readonly path: string
  readonly link: string
}

/** Dependencies of a publish. */
export interface PublishDeps {
  readonly store: Store
  /** Wall-clock time before the folder is read. */
  readonly nowMs: number
  /** Time after which servers no longer read an earlier publication: their `cache.ttl`. */
  readonly ttlMs?: number
  /** Folder of the hashes of earlier runs, a cache. Without it all files are read. */
  readonly memoryDir?: string
  /** Files and folders that are never published, in addition to the store's. */
  readonly own?: readonly OwnPath[]
  /** Whether repositories have separate hosts. */
  readonly hasHosts?: boolean
  /** URL of the site, if it is known. */
  readonly publicUrl?: string | undefined
  /** Called once, before anything is sent. */
  readonly onListed?: ((listed: Omit<Listing, 'files'>) => void) | undefined
  readonly onProgress?: (done: number, total: number) => void
}

/**
 * Publishes a folder as a repository or a version of one. Readers get all files of the earlier publication until the
 * manifest is replaced, and then all of the new one: contents are sent under their hashes before, and deleted long
 * after no publication uses them. `_meta.json` follows, so that the site lists only what is complete. An
 * interrupted publish changes nothing or everything; repeated, it sends only what is missing. Other processes may
 * change the repository meanwhile.
 *
 * @throws PUBLISH_INVALID when the folder or a name in the request cannot be published
 * @throws PUBLISH_CONFLICT when other processes keep changing or removing the same
 */
export async function publish(request: PublishRequest, deps: PublishDeps): Promise<PublishResult> {
  checkNames(request)
  const meta = await checkMeta(request, deps)
  const root = `${REPOS}${request.repo}/`
  const target = request.version === undefined ? root : `${root}${request.version}/`
  await holdExpired(request, deps)
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const result = await publishTo(
      { target, meta },
      request,
      attempt === 0 ? deps : { ...deps, onListed: undefined },
    )
    // Others may have been removing contents when this used them: what they have deleted is sent again.
    if (result !== 'incomplete') return result
  }
  throw fault(
    'PUBLISH_CONFLICT',
    `other processes keep deleting files of "${target}"; publish again after they end`,
  )
}

/** Files of a folder to publish. */
interface Local {
  /** All files of the folder. */
  readonly found: readonly LocalFile[]
  readonly files: readonly LocalFile[]
  /** Whether a published file that is not in the folder is removed even without `deletes`. */
  readonly isRemoved: (path: string) => boolean
  readonly links: LinkCheck
  readonly memory: HashMemory | undefined
}

function ownPathsOf({ own = [], store: { folder } }: PublishDeps): readonly OwnPath[] {
  if (folder === undefined) return own
  const use = 'store.root'
  return [...own, { use, path: join(folder, REPOS) }, { use, path: folder, isShared: true }]
}

/** Files that were sent, and the manifest that publishes them. */
interface Sent extends Omit<PageFindings, 'links'> {
  readonly manifest: Manifest
  readonly index: NextFile
  readonly uploaded: readonly LocalFile[]
  readonly gone: readonly string[]
}

async function publishTo(
  { target, meta }: { readonly target: string; readonly meta: Repo },
  request: PublishRequest,
  deps: PublishDeps,
): Promise<PublishResult | 'incomplete'> {
  const { store, nowMs, ttlMs = 0, publicUrl } = deps
  const memory =
    deps.memoryDir === undefined ? undefined : await HashMemory.open(deps.memoryDir, request.folder)
  const { files: found, ...listed } = await listFolder(request.folder, ownPathsOf(deps), memory)
  const files = found.filter(({ path }) => !OWN.has(path))
  deps.onListed?.(listed)
  if (files.length === 0)
    throw fault('PUBLISH_INVALID', `the folder ${request.folder} has no files to publish`)
  const isReplaced = areReplacedBy(files)
  const isLeftOut = areWithin(listed.leftOut)
  const isRemoved = (path: string): boolean => isLeftOut(path) || isReplaced(path)
  const check = (current: Repo): Promise<void> => checkAliases(request, current, store, files)
  await check(await readMeta(store, request.repo, `${REPOS}${request.repo}/`))
  const open = async (): Promise<NextSite> => {
    const { manifest: before } = await readManifest(store, target)
    const { deletes } = request
    const there = new KeySet()
    const next = nextManifest({ before, files, index: NO_INDEX, deletes, isRemoved, there, nowMs })
    return openNextSite({ store, nowMs, target, meta, manifest: next, files, publicUrl })
  }
  let site: Promise<NextSite> | undefined
  const openSite = (): Promise<NextSite> => (site ??= open())
  const redirects = await checkRedirects(files, openSite)
  const links = new LinkCheck(request.repo, deps.hasHosts === true, openSite)
  const { manifest, index, uploaded, gone, ...findings } = await changeManifest(
    store,
    target,
    async (before) => {
      const result = await send(target, { found, files, isRemoved, links, memory }, before, request, deps)
      const isSame = before !== undefined && isSameManifest(before, result.manifest)
      return { next: isSame ? 'same' : result.manifest, result }
    },
  )
  const expiresMs = await updateMeta(request, deps, check)
  if (!(await isComplete(store, target, files, index))) return 'incomplete'
  const paths = (): readonly string[] => [...OWN, ...files.map(({ path }) => path), ...gone]
  await removeUnfinished(store, target, paths, nowMs - DEAD_MS)
  await sweepRetired(store, target, manifest, nowMs - keptMs(ttlMs))
  const searchable = files.filter(isSearched)
  return {
    repo: request.repo,
    version: request.version,
    expiresMs,
    uploaded: uploaded.length,
    unchanged: files.length - uploaded.length,
    deleted: gone.length,
    pages: searchable.filter(isIndexable).length,
    bytes: uploaded.reduce((sum, { size }) => sum + size, 0),
    ...listed,
    withdrawn: listed.leftOut.filter((each) => gone.some(areWithin([each]))).map(({ path }) => path),
    unsearched: searchable.filter((file) => !isIndexable(file)).map(({ path }) => path),
    ...redirects,
    ...findings,
  }
}

/** Sends the contents that the store does not have, and returns the manifest that follows another. */
async function send(
  target: string,
  { found, files, isRemoved, links, memory }: Local,
  earlier: Manifest | undefined,
  request: PublishRequest,
  { store, nowMs, onProgress }: PublishDeps,
): Promise<Sent> {
  const before = earlier ?? EMPTY_MANIFEST
  const there = await listContents(store, target)
  const missing = missingContents(files, there)
  try {
    await sendContents(store, target, missing, (done) => onProgress?.(done, missing.length))
  } catch (error) {
    // A remembered hash that is wrong must not fail the next run too.
    const isWrong = isFault(error) && error.code === 'PUBLISH_INVALID'
    await memory?.remember(isWrong ? [] : found, nowMs)
    throw error
  }
  // Not earlier: its file may be in the folder, and would change before it is sent.
  await memory?.remember(found, nowMs)

  const gone = absentPaths(before, files).filter((path) => request.deletes || isRemoved(path))
  const indexed = files.filter((file) => isSearched(file) && isIndexable(file))
  const findings: PageFindings = { links, partlySearched: [], doubtfulCharsets: [], rootLinks: [] }
  const notFound = files.filter((file) => isNotFoundPage(file) && isIndexable(file))
  if (!arePublished(before, notFound))
    for (const file of notFound) noteLink((await readPage(file, links)).link, file, findings)
  const isIndexed = arePublished(before, indexed) && !gone.some((path) => isPage({ path }))
  const index =
    (isIndexed ? storedIndex(before, there) : undefined) ??
    (await sendIndex(store, target, readPages(indexed, findings), there))
  const manifest = nextManifest({ before, files, index, deletes: request.deletes, isRemoved, there, nowMs })
  const { partlySearched, doubtfulCharsets, rootLinks } = findings
  return { manifest, index, uploaded: missing, gone, partlySearched, doubtfulCharsets, rootLinks }
}

/** Whether the store has a manifest, and the contents of all files and of the index. */
async function isComplete(
  store: Store,
  target: string,
  files: readonly LocalFile[],
  index: NextFile,
): Promise<boolean> {
  const there = await listContents(store, target)
  return (
    missingContents(files, there).length === 0 &&
    there.hasContent(index.sha256, index.compressed) &&
    (await hasManifest(store, target))
  )
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

/** Whether a file is a page to search, which error pages are not. */
function isSearched({ path }: Pick<LocalFile, 'path'>): boolean {
  return isPage({ path }) && !isNotFoundPage({ path })
}

function isNotFoundPage({ path }: Pick<LocalFile, 'path'>): boolean {
  return /(?:^|\/)404\.html$/.test(path)
}

function isIndexable({ size }: LocalFile): boolean {
  return size <= MAX_TEXT_BYTES
}

/** Findings about pages while they are read. */
interface PageFindings {
  readonly links: LinkCheck
  readonly partlySearched: string[]
  readonly doubtfulCharsets: DoubtfulCharset[]
  readonly rootLinks: RootLink[]
}

/** Reads the text of pages, a few at a time. @param findings receives what is wrong with them */
async function* readPages(files: readonly LocalFile[], findings: PageFindings): AsyncGenerator<IndexedPage> {
  for (let first = 0; first < files.length; first += PARALLEL) {
    const some = files.slice(first, first + PARALLEL)
    for (const { page, link, doubtful } of await Promise.all(
      some.map((file) => readPage(file, findings.links)),
    )) {
      if (page.isCut) findings.partlySearched.push(page.path)
      if (doubtful !== undefined) findings.doubtfulCharsets.push(doubtful)
      noteLink(link, page, findings)
      yield page
    }
  }
}

/** Reads the text of a page, and its first broken link that begins with a slash. */
async function readPage(file: LocalFile, links: LinkCheck) {
  // Loaded here because servers do not need the parser.
  const { readPageText } = await import('../search/page-text.ts')
  const found = new Set<string>()
  const { text: html, charset, isDoubtful } = decodeText(await readFile(locationOf(file)), 'text/html')
  const text = readPageText(html, (address) => isRootLink(address) && found.add(address))
  return {
    page: { path: file.path, ...text },
    link: await links.firstBroken(found),
    doubtful: isDoubtful ? { path: file.path, charset: charset ?? null } : undefined,
  }
}

function noteLink(
  link: string | undefined,
  { path }: Pick<LocalFile, 'path'>,
  { rootLinks }: PageFindings,
): void {
  if (link !== undefined) rootLinks.push({ path, link })
}

/**
 * Sends the index, unless the store has the same. It is written to a temporary file first: the text of a large site
 * does not fit into memory.
 */
async function sendIndex(
  store: Store,
  target: string,
  pages: AsyncIterable<IndexedPage>,
  there: KeySet,
): Promise<NextFile> {
  const folder = await mkdtemp(join(tmpdir(), 'content-publish-'))
  try {
    const file = join(folder, INDEX_FILE)
    await pipeline(formatIndex(pages), createWriteStream(file))
    const { size } = await stat(file)
    const sha256 = await hashOf(file, size)
    const key = contentKey(sha256)
    if (!there.has(key)) await store.write(target + key, { file, size }, { contentType: 'application/json' })
    return { path: INDEX_FILE, size, sha256, compressed: false }
  } finally {
    await rm(folder, { recursive: true })
  }
}
