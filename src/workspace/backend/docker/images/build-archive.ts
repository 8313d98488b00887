import { setImmediate } from 'node:timers/promises'
import { encodeTarHeader, TAR_END } from '../../../../lib/tar/encode-header.ts'
import {
  BLOCK_BYTES,
  checksumOf,
  FIELDS,
  octal,
  paddingOf,
  type TarEntry,
} from '../../../../lib/tar/entry.ts'
import { readTar, type TarItem } from '../../../../lib/tar/read-tar.ts'
import type { BuildFiles } from '../../image-builds.ts'

/** Name of the lines for the builder, which it removes from the files that COPY can copy. */
export const LINES_FILE = '.workspace-lines'
const DOCKERIGNORE = '.dockerignore'
const MAX_BYTES = 4 * 2 ** 30
/** Time for matching names against patterns, and how much of it in one turn of the event loop. */
const MAX_MATCH_MS = 30_000
const TURN_MS = 10

/** Yields the archive that the engine's builder expects: the lines, and the files of the context if there is one. */
export async function* buildArchive(
  lines: string,
  files: (BuildFiles & { readonly archive: AsyncIterable<Buffer> }) | undefined,
): AsyncGenerator<Buffer> {
  const ignored = files?.dockerignore
  // The builder removes files that this one names.
  const names = [...(ignored === undefined ? [DOCKERIGNORE] : [ignored]), LINES_FILE, '']
  yield fileOf(DOCKERIGNORE, names.join('\n'))
  yield fileOf(LINES_FILE, lines)
  if (files !== undefined) yield* filesOf(files)
  yield TAR_END
}

/** Yields an archive of an image that has only files of another one. */
export async function* importArchive(
  title: string,
  { archive, renamed }: { readonly archive: AsyncIterable<Buffer>; readonly renamed: string | undefined },
): AsyncGenerator<Buffer> {
  for await (const { entry, head, content } of itemsOf(archive, title)) {
    yield* renamed === undefined ? head : withName(head, renamed, title)
    yield* contentOf(entry, content)
  }
  yield TAR_END
}

/** Encodes a whole file. */
function fileOf(path: string, text: string): Buffer {
  const content = Buffer.from(text)
  const size = content.length
  const head = encodeTarHeader({ type: 'file', path, linkPath: '', mode: 0o644, size, mtimeMs: 0 })
  return Buffer.concat([head, content, Buffer.alloc(paddingOf(size))])
}

/** Yields the files of the context that are not ignored. */
async function* filesOf({
  archive,
  context,
  isIgnored,
  mode,
}: BuildFiles & { readonly archive: AsyncIterable<Buffer> }): AsyncGenerator<Buffer> {
  const clock = new MatchClock()
  for await (const { entry, head, content } of itemsOf(archive, `the context ${context}`)) {
    const isLeftOut = clock.measure(() => isEntryIgnored(entry, isIgnored))
    await clock.pause()
    if (isLeftOut) continue
    yield* mode === undefined || entry.type === 'link' ? head : withMode(head, mode)
    yield* contentOf(entry, content)
  }
}

/** Yields the files of an archive. Devices and pipes are left out: the builder would open them as root of the host. */
async function* itemsOf(archive: AsyncIterable<Buffer>, title: string): AsyncGenerator<TarItem> {
  let bytes = 0
  for await (const item of readTar(archive, { isPassedOn: true })) {
    bytes += BLOCK_BYTES * item.head.length + item.entry.size
    if (bytes > MAX_BYTES) throw new Error(`${title} is larger than 4 GiB`)
    if (item.entry.type !== 'other') yield item
  }
}

async function* contentOf({ size }: TarEntry, content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* content
  const padding = paddingOf(size)
  if (padding > 0) yield Buffer.alloc(padding)
}

/** @throws Error for a hard link to a file that is ignored, whose content the archive has only there */
function isEntryIgnored(
  { type, path: name, linkPath }: TarEntry,
  isIgnored: BuildFiles['isIgnored'],
): boolean {
  const path = pathOf(name)
  if (path === DOCKERIGNORE || path === LINES_FILE || path.startsWith(`${LINES_FILE}/`)) return true
  if (path !== '' && isIgnored(path)) return true
  const target = type === 'hardlink' ? pathOf(linkPath) : DOCKERIGNORE
  if (target !== DOCKERIGNORE && isIgnored(target))
    throw new Error(`${path} is a hard link to ${target}, which .dockerignore leaves out`)
  return false
}

/** Returns the path of an entry below the context; '' for the context itself. */
function pathOf(name: string): string {
  return Buffer.from(name, 'latin1')
    .toString()
    .replace(/^\.?\/+|\/+$/g, '')
}

/** Limits the time for matching, and lets others have turns. */
class MatchClock {
  #spentMs = 0
  #pausedMs = 0

  measure<T>(work: () => T): T {
    const startedMs = performance.now()
    const result = work()
    this.#spentMs += performance.now() - startedMs
    if (this.#spentMs > MAX_MATCH_MS) throw new Error('.dockerignore has too many patterns for so many files')
    return result
  }

  async pause(): Promise<void> {
    if (this.#spentMs - this.#pausedMs < TURN_MS) return
    this.#pausedMs = this.#spentMs
    await setImmediate()
  }
}

/** Returns header blocks with other permission bits. */
function withMode(head: readonly Buffer[], mode: number): readonly Buffer[] {
  return [...head.slice(0, -1), changed(head, FIELDS.mode, octal(mode, FIELDS.mode[1] - 1))]
}

/** Returns the header of a file with another name. @throws Error if blocks before it may have the name as well */
function withName(head: readonly Buffer[], name: string, title: string): readonly Buffer[] {
  const text = Buffer.from(name).toString('latin1')
  if (head.length !== 1 || text.length >= FIELDS.name[1])
    throw new Error(`${title} is a link to a file with attributes or a long name, which is not supported`)
  return [changed(head, FIELDS.name, text)]
}

/** Returns the last header block with another text in a field. */
function changed(head: readonly Buffer[], [at, length]: readonly [number, number], text: string): Buffer {
  const block = Buffer.from(head.at(-1) ?? Buffer.alloc(BLOCK_BYTES))
  block.fill(0, at, at + length).write(text, at, 'latin1')
  block.write(`${octal(checksumOf(block), 6)}\0 `, FIELDS.checksum[0], 'latin1')
  return block
}
