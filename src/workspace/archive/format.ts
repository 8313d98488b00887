import { createHash } from 'node:crypto'
import { parseJson } from '../../lib/schema/parse-json.ts'
import { Type } from '../../lib/schema/type.ts'
import { encodeTarFile } from '../../lib/tar/encode-header.ts'
import { paddingOf } from '../../lib/tar/entry.ts'
import type { TarItem } from '../../lib/tar/read-tar.ts'

/** The first entry of an archive. */
export const MANIFEST_PATH = 'workspace-archive.json'
/** The last entry of an archive, by which a complete one is recognized. */
export const END_PATH = 'workspace-archive-end.json'
/** Maximum size of both. */
export const MAX_TEXT_BYTES = 256 * 1024

/** Directories of an archive, in their order: the workspace's directory and its user's home. */
export const SECTIONS = ['workspace', 'home'] as const
/** A directory of an archive. */
export type Section = (typeof SECTIONS)[number]

const endSchema = Type.Object({ bytes: Type.Integer({ minimum: 0 }), sha256: Type.String() })

/** Encodes an entry with a text. */
export function textEntry(path: string, text: string): Buffer {
  return encodeTarFile(path, Buffer.from(text))
}

/** Yields the blocks of an entry as they are in an archive. */
export async function* blocksOf({ head, entry, content }: TarItem): AsyncGenerator<Buffer> {
  yield* head
  yield* content
  yield Buffer.alloc(paddingOf(entry.size))
}

/** Returns the section of a name; undefined for a name outside all of them, or that leads out. */
export function sectionOf(path: string): Section | undefined {
  const [first, ...others] = path.replace(/\/$/, '').split('/')
  if (others.some((name) => name === '..' || name === '')) return undefined
  return SECTIONS.find((section) => section === first)
}

/** Counts and digests all bytes of an archive before its end entry. */
export class ArchiveDigest {
  readonly #hash = createHash('sha256')
  #bytes = 0

  add(chunk: Buffer): Buffer {
    this.#hash.update(chunk)
    this.#bytes += chunk.length
    return chunk
  }

  /** Returns the text of the end entry. */
  end(): string {
    return JSON.stringify({ bytes: this.#bytes, sha256: this.#hash.digest('hex') })
  }

  /** Returns whether the text of an end entry describes what was added. */
  matches(text: string): boolean {
    const end = parseJson(endSchema, text)
    return end !== undefined && end.bytes === this.#bytes && end.sha256 === this.#hash.digest('hex')
  }
}
