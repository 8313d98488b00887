import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { buffer } from 'node:stream/consumers'
import { isFault } from '../../lib/errors/fault.ts'
import { ignore } from '../../lib/errors/ignore.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { readTar, type TarItem } from '../../lib/tar/read-tar.ts'
import { fault } from '../errors.ts'
import { ArchiveDigest, blocksOf, END_PATH, MANIFEST_PATH, MAX_TEXT_BYTES, sectionOf } from './format.ts'
import type { Section } from './format.ts'
import { type Manifest, parseManifest } from './manifest.ts'

/** An upload without data for this time is given up. */
const SILENCE_MS = 60_000
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b])

/** An entry of a section, as its tar blocks. */
export interface ArchiveEntry {
  readonly section: Section
  readonly blocks: AsyncIterable<Buffer>
}

/** An opened archive, whose entries are read once. */
export interface OpenArchive {
  readonly manifest: Manifest
  /** Ends only if the archive is complete. */
  readonly entries: AsyncGenerator<ArchiveEntry>
}

/** Limits of an upload. */
export interface ArchiveLimits {
  /** Maximum number of bytes, uncompressed. */
  readonly maxBytes: number
  /** Aborts the reading. */
  readonly signal: AbortSignal
  /** Time without data after which the upload is given up. */
  readonly silenceMs?: number
}

/**
 * Reads an untrusted archive up to its manifest. Its other entries are checked as they are read: each is below one of
 * the sections, in their order, and neither a device nor a FIFO. What they contain is for the tar inside a workspace.
 *
 * @throws INVALID_ARCHIVE when it is damaged, incomplete, from a newer server, or not an archive of a workspace
 * @throws ARCHIVE_TOO_LARGE
 */
export async function openArchive(body: Readable, limits: ArchiveLimits): Promise<OpenArchive> {
  const digest = new ArchiveDigest()
  const bytes = limited(decompressed(untilSilent(body, limits)), limits.maxBytes)
  const items = readTar(bytes, { isPassedOn: true })
  const first = await items.next().catch((error: unknown) => {
    throw archiveFault(error)
  })
  if (first.done === true || first.value.entry.path !== MANIFEST_PATH)
    throw fault(
      'INVALID_ARCHIVE',
      'this is not an archive of a workspace; create one with "workspace export"',
    )
  const manifest = parseManifest(await textOf(first.value, digest))
  return { manifest, entries: entriesOf(items, digest) }
}

async function* entriesOf(
  items: AsyncGenerator<TarItem>,
  digest: ArchiveDigest,
): AsyncGenerator<ArchiveEntry> {
  let hasEnd = false
  try {
    for await (const item of items) {
      if (hasEnd) throw fault('INVALID_ARCHIVE', 'the archive continues after its end')
      hasEnd = item.entry.path === END_PATH
      if (hasEnd) {
        if (!digest.matches(await textOf(item)))
          throw fault('INVALID_ARCHIVE', 'the archive is damaged: its digest does not match')
      } else yield { section: checkedSection(item), blocks: digested(item, digest) }
    }
  } catch (error) {
    throw archiveFault(error)
  }
  if (!hasEnd) throw fault('INVALID_ARCHIVE', 'the archive is incomplete: its last entry is missing')
}

/** @throws INVALID_ARCHIVE for an entry that no export creates */
function checkedSection({ entry }: TarItem): Section {
  const section = sectionOf(entry.path)
  const isHardlinkOut = entry.type === 'hardlink' && sectionOf(entry.linkPath) !== section
  if (section === undefined || isHardlinkOut) throw entryFault(entry.path, 'which is outside its directories')
  if (entry.type === 'other') throw entryFault(entry.path, 'which is neither a file, a directory nor a link')
  return section
}

function entryFault(path: string, why: string) {
  const name = JSON.stringify(Buffer.from(path.slice(0, 200), 'latin1').toString())
  return fault('INVALID_ARCHIVE', `the archive contains ${name}, ${why}`)
}

async function* digested(item: TarItem, digest: ArchiveDigest): AsyncGenerator<Buffer> {
  try {
    for await (const block of blocksOf(item)) yield digest.add(block)
  } catch (error) {
    throw archiveFault(error)
  }
}

async function textOf(item: TarItem, digest?: ArchiveDigest): Promise<string> {
  if (item.entry.type !== 'file' || item.entry.size > MAX_TEXT_BYTES)
    throw fault('INVALID_ARCHIVE', `the archive is damaged: ${item.entry.path} is not a small file`)
  try {
    const content = await buffer(item.content)
    const whole = { ...item, content: [content] as unknown as AsyncIterable<Buffer> }
    for await (const block of blocksOf(whole)) digest?.add(block)
    return content.toString()
  } catch (error) {
    throw archiveFault(error)
  }
}

/** Yields what arrives; an upload that neither continues nor ends is given up. */
async function* untilSilent(
  body: Readable,
  { signal, silenceMs = SILENCE_MS }: ArchiveLimits,
): AsyncGenerator<Buffer> {
  const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  for (;;) {
    const { promise: stopped, reject } = Promise.withResolvers<never>()
    const stop = (): void => reject(signal.reason as Error)
    const late = setTimeout(
      () => reject(fault('INVALID_ARCHIVE', `no data arrived for ${silenceMs / 1_000} s`)),
      silenceMs,
    )
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    try {
      const { done, value } = await Promise.race([chunks.next(), stopped])
      if (done === true) return
      yield value
    } finally {
      clearTimeout(late)
      signal.removeEventListener('abort', stop)
    }
  }
}

/** Decompresses gzip; anything else is read as it is. */
async function* decompressed(source: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  let start: Buffer = Buffer.alloc(0)
  while (start.length < GZIP_MAGIC.length) {
    const { done, value } = await source.next()
    if (done === true) break
    start = Buffer.concat([start, value])
  }
  const whole = async function* (): AsyncGenerator<Buffer> {
    yield start
    yield* source
  }
  if (start.subarray(0, GZIP_MAGIC.length).equals(GZIP_MAGIC)) {
    const gunzip = createGunzip()
    pipeline(whole(), gunzip).catch(ignore('it destroys the stream, whose reader reports it'))
    yield* gunzip as AsyncIterable<Buffer>
  } else yield* whole()
}

async function* limited(source: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
  let left = maxBytes
  for await (const chunk of source) {
    left -= chunk.length
    if (left < 0)
      throw fault(
        'ARCHIVE_TOO_LARGE',
        `the archive has more than ${maxBytes} bytes uncompressed; raise import_size_max, or export less`,
      )
    yield chunk
  }
}

function archiveFault(error: unknown) {
  return isFault(error)
    ? error
    : fault('INVALID_ARCHIVE', `the archive cannot be read: ${messageOf(error)}`, error)
}
