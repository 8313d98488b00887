import { isAscii } from 'node:buffer'
import type { Static } from 'typebox'
import { parseJson } from '../../lib/schema/parse-json.ts'
import { Type } from '../../lib/schema/type.ts'
import { comparable, isComparable } from '../name-form.ts'
import { contentKey, isContentKey, withForms } from './content-key.ts'

/** File in which a repository or version lists its published files. Replacing it publishes all of them at once. */
export const MANIFEST_FILE = '_files.json'
/** Larger manifests are neither written nor read. */
export const MAX_MANIFEST_BYTES = 256 * 2 ** 20

/** The whole file is JSON; each entry has its own line, so that one is found without parsing the others. */
const BEGIN = '{"format":2,"files":['
const RETIRED = '],"retired":['
const IN_PLACE = '],"in_place":['
const END = ']}'
/** Lines formatted or compared at once: separate buffers take more memory than their text. */
const LINES_AT_ONCE = 1_000

const sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })
const fileSize = Type.Integer({ minimum: 0 })
const fileSchema = Type.Object({
  /** Path relative to the manifest's folder. */
  path: Type.String(),
  sha256,
  size: fileSize,
  /** Whether compressed forms are stored beside the content. */
  compressed: Type.Boolean(),
  /** Time at which the path got this content, in milliseconds since the epoch. */
  modified: Type.Integer(),
})
const retiredSchema = Type.Object({
  /** Key relative to the manifest's folder. */
  key: Type.String(),
  /** Time from which no file has used the object, in milliseconds since the epoch. */
  since: Type.Integer(),
})
const inPlaceSchema = Type.Object({ path: Type.String(), compressed: Type.Boolean() })
/** The first format, in which files are stored under their paths. */
const oldSchema = Type.Object({
  format: Type.Literal(1),
  files: Type.Record(Type.String(), Type.Object({ compressed: Type.Boolean() })),
})

/** A published file. */
export type Published = Readonly<Static<typeof fileSchema>>

/** Published files, sorted by path. Those of a stored manifest are parsed each time that they are read. */
export interface PublishedFiles {
  readonly size: number
  readonly values: () => Iterable<Published>
}

/** Published files of a repository or version. */
export interface Manifest {
  readonly files: PublishedFiles
  /**
   * Keys, relative to the manifest's folder, of objects that no file uses any more, with the time since when.
   * They are kept while servers may still read the earlier publication.
   */
  readonly retired: ReadonlyMap<string, number>
  /** Paths under which an earlier version of this program stored files, and whether they have compressed forms. */
  readonly inPlace: ReadonlyMap<string, boolean>
}

/** Yields the keys, relative to the manifest's folder, of all objects that its files use; some of them repeatedly. */
export function* usedKeys({ files, inPlace }: Pick<Manifest, 'files' | 'inPlace'>): Generator<string> {
  for (const { sha256: hash, compressed } of files.values()) yield* withForms(contentKey(hash), compressed)
  for (const [path, isCompressed] of inPlace) yield* withForms(path, isCompressed)
}

/** The files of a manifest without any. */
export const NO_FILES: PublishedFiles = { size: 0, values: () => [] }

/** Formats a manifest. */
export function formatManifest({ files, retired, inPlace }: Manifest): Buffer {
  // Keys outside the folder of contents come first: servers skip the others.
  const keys = [...retired.keys()].toSorted((a, b) => Number(isContentKey(a)) - Number(isContentKey(b)))
  return Buffer.concat([
    ...section(BEGIN, files.values()),
    ...section(
      RETIRED,
      keys.map((key) => ({ key, since: retired.get(key) })),
    ),
    ...section(
      IN_PLACE,
      [...inPlace].map(([path, compressed]) => ({ path, compressed })),
    ),
    Buffer.from(`${END}\n`),
  ])
}

function* section(start: string, entries: Iterable<object>): Generator<Buffer> {
  let lines = [`${start}\n`]
  let separator = ''
  for (const entry of entries) {
    lines.push(`${separator}${JSON.stringify(entry)}\n`)
    separator = ','
    if (lines.length < LINES_AT_ONCE) continue
    yield Buffer.from(lines.join(''))
    lines = []
  }
  yield Buffer.from(lines.join(''))
}

/** Parses a manifest of this or the first format; undefined if it is neither or damaged. */
export function parseManifest(bytes: Buffer): Manifest | undefined {
  const index = IndexedManifest.parse(bytes)
  if (index === undefined) return parseOld(bytes)
  return {
    files: { size: index.size, values: () => index.files() },
    retired: new Map(index.retired().map(({ key, since }) => [key, since])),
    inPlace: new Map(index.inPlace().map(({ path, compressed }) => [path, compressed])),
  }
}

function parseOld(bytes: Buffer): Manifest | undefined {
  const old = parseJson(oldSchema, bytes.toString())
  if (old === undefined) return undefined
  const inPlace = new Map(Object.entries(old.files).map(([path, { compressed }]) => [path, compressed]))
  return { files: NO_FILES, retired: new Map(), inPlace }
}

/** A manifest as stored, with the positions of its lines: a large one takes little time and memory to open. */
export class IndexedManifest {
  readonly #bytes: Buffer
  readonly #starts: Uint32Array
  readonly #sections: Readonly<Record<'files' | 'retired' | 'inPlace', readonly [number, number]>>

  private constructor(bytes: Buffer, starts: Uint32Array, retiredAt: number, inPlaceAt: number) {
    this.#bytes = bytes
    this.#starts = starts
    const end = starts.length - 2
    this.#sections = {
      files: [1, retiredAt],
      retired: [retiredAt + 1, inPlaceAt],
      inPlace: [inPlaceAt + 1, end],
    }
  }

  /** Parses a manifest; undefined if it has another format or is damaged. */
  static parse(bytes: Buffer): IndexedManifest | undefined {
    if (!isOfThisFormat(bytes)) return undefined
    const starts = lineStarts(bytes)
    const line = (at: number): string => bytes.toString('utf8', starts[at], (starts[at + 1] ?? 1) - 1)
    const places = [RETIRED, IN_PLACE].map((text) => lineOf(bytes, starts, text))
    const [retiredAt = -1, inPlaceAt = -1] = places
    if (retiredAt < 1 || inPlaceAt < retiredAt || line(starts.length - 2) !== END) return undefined
    return new IndexedManifest(bytes, starts, retiredAt, inPlaceAt)
  }

  /** Number of published files. */
  get size(): number {
    const [first, end] = this.#sections.files
    return end - first
  }

  /** Memory that it uses. */
  get byteLength(): number {
    return this.#bytes.length + this.#starts.byteLength
  }

  /** Returns the file of a path relative to the manifest's folder, if it is published. */
  find(path: string): Published | undefined {
    let [low, high] = this.#sections.files
    while (low < high) {
      const middle = (low + high) >>> 1
      const file = parseFile(this.#line(middle))
      if (file === undefined) return undefined
      if (file.path === path) return file
      if (file.path < path) low = middle + 1
      else high = middle
    }
    return undefined
  }

  /** Returns the paths of files that are not in the form in which paths are compared, by that form. */
  otherForms(): ReadonlyMap<string, string> {
    const found = new Map<string, string>()
    const [first, end] = this.#sections.files
    for (let from = first; from < end; from += LINES_AT_ONCE) {
      const to = Math.min(from + LINES_AT_ONCE, end)
      // Parsing takes far longer than finding out that no line of many needs it.
      const bytes = this.#bytes.subarray(this.#starts[from], this.#starts[to])
      if (isAscii(bytes) || isComparable(bytes.toString())) continue
      for (const { path } of this.#filesIn(from, to)) {
        const form = comparable(path)
        if (form !== path) found.set(form, path)
      }
    }
    return found
  }

  files(): Generator<Published> {
    return this.#filesIn(...this.#sections.files)
  }

  *#filesIn(first: number, end: number): Generator<Published> {
    for (let at = first; at < end; at++) {
      const file = parseFile(this.#line(at))
      if (file !== undefined) yield file
    }
  }

  /** Returns the retired objects, or only those before the first content. */
  retired(isUntilContents = false): readonly Readonly<Static<typeof retiredSchema>>[] {
    const all = []
    const [first, end] = this.#sections.retired
    for (let at = first; at < end; at++) {
      const entry = parseJson(retiredSchema, this.#line(at))
      if (isUntilContents && entry !== undefined && isContentKey(entry.key)) break
      if (entry !== undefined) all.push(entry)
    }
    return all
  }

  inPlace(): readonly Readonly<Static<typeof inPlaceSchema>>[] {
    const [first, end] = this.#sections.inPlace
    return Array.from({ length: end - first }, (_, at) => this.#line(first + at)).flatMap(
      (line) => parseJson(inPlaceSchema, line) ?? [],
    )
  }

  #line(at: number): string {
    const text = this.#bytes.toString('utf8', this.#starts[at], (this.#starts[at + 1] ?? 1) - 1)
    return text.startsWith(',') ? text.slice(1) : text
  }
}

/** As written here; any other text is left to the schema, which takes twenty times as long. */
const FILE_LINE =
  /^\{"path":("(?:[^"\\]|\\.)*"),"size":(\d{1,15}),"sha256":"([0-9a-f]{64})","compressed":(true|false),"modified":(\d{1,15})\}$/

function parseFile(line: string): Published | undefined {
  const [, path, size, hash, compressed, modified] = FILE_LINE.exec(line) ?? []
  if (path === undefined || hash === undefined || path.includes('\\')) return parseJson(fileSchema, line)
  return {
    path: path.slice(1, -1),
    size: Number(size),
    sha256: hash,
    compressed: compressed === 'true',
    modified: Number(modified),
  }
}

/** Whether bytes begin as a manifest of this format, complete or not. */
export function isOfThisFormat(bytes: Buffer): boolean {
  return bytes.toString('utf8', 0, BEGIN.length + 1) === `${BEGIN}\n`
}

/** Returns the offsets of all lines, and the end of the last one. */
function lineStarts(bytes: Buffer): Uint32Array {
  let count = 1
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) count++
  const starts = new Uint32Array(count)
  let next = 1
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) starts[next++] = at + 1
  return starts
}

/** Returns the number of a line; -1 if there is none. JSON strings contain no line breaks, so it occurs once. */
function lineOf(bytes: Buffer, starts: Uint32Array, text: string): number {
  const at = bytes.indexOf(`\n${text}\n`)
  return at === -1 ? -1 : starts.indexOf(at + 1)
}
