import { Readable } from 'node:stream'
import type { Static } from 'typebox'
import type { CamelCase } from '../../api/camel-case.ts'
import type {
  extractQuerySchema,
  fileChangeSchema,
  fileQuerySchema,
  moveBodySchema,
  readQuerySchema,
  removeFileQuerySchema,
  watchQuerySchema,
  WireFile,
  writeQuerySchema,
} from '../../api/file.ts'
import { ConnectionError } from './errors.ts'
import type { Request, RequestOptions, Transport } from './transport.ts'

/** A path, or the percent-encoded form of one, which addresses names that are not UTF-8. */
export type FilePath = string | { readonly encoded: string }

/** A file or directory of a workspace. `nameEncoded` is only set if the name is not UTF-8, and belongs into a `FilePath`. */
export type FileInfo = CamelCase<WireFile>

type PathFields = CamelCase<Static<typeof fileQuerySchema>>

/** Options for reading: the part of the file, in bytes. */
export type ReadOptions = RequestOptions & Omit<CamelCase<Static<typeof readQuerySchema>>, keyof PathFields>

/** Options for writing. */
export type WriteOptions = RequestOptions &
  Omit<CamelCase<Static<typeof writeQuerySchema>>, keyof PathFields> & {
    /** Length of a content that is a stream. */
    readonly bytes?: number | undefined
  }

/** Options for extracting an archive. */
export type UploadOptions = RequestOptions &
  Omit<CamelCase<Static<typeof extractQuerySchema>>, keyof PathFields>

/** Options for removing. */
export type RemoveOptions = RequestOptions &
  Omit<CamelCase<Static<typeof removeFileQuerySchema>>, keyof PathFields>

/** Options for moving. */
export type MoveOptions = RequestOptions & Pick<CamelCase<Static<typeof moveBodySchema>>, 'overwrite'>

/** Options for watching. */
export type WatchOptions = RequestOptions & Omit<CamelCase<Static<typeof watchQuerySchema>>, keyof PathFields>

/** An event of a watched directory; changes are seen from `ready` on. */
export type WatchEvent = { readonly type: 'ready' } | CamelCase<Static<typeof fileChangeSchema>>

/** Content of a file: a stream needs the option `bytes`; `fs.openAsBlob` returns a file of this machine. */
export type FileContent = string | Uint8Array | Blob | AsyncIterable<Uint8Array>

/** An archive of any length. */
export type Archive = Uint8Array | Blob | AsyncIterable<Uint8Array>

/** Files of a running workspace. Paths are absolute, or relative to /workspace. */
export class WorkspaceFiles {
  readonly #transport: Transport
  readonly #path: string

  constructor(transport: Transport, workspacePath: string) {
    this.#transport = transport
    this.#path = `${workspacePath}/files`
  }

  /** Reads a file or a part of it. */
  async read(path: FilePath, options: ReadOptions = {}): Promise<Uint8Array> {
    return this.#transport.download(this.#path, queried(path, options))
  }

  /** Reads a text file in UTF-8. */
  async readText(path: FilePath, options: ReadOptions = {}): Promise<string> {
    return (await this.#transport.download(this.#path, queried(path, options))).toString('utf8')
  }

  /** Reads a file in pieces, no faster than they are consumed. */
  readStream(path: FilePath, options: ReadOptions = {}): AsyncGenerator<Uint8Array, void, void> {
    return this.#transport.downloadPieces(this.#path, queried(path, options))
  }

  /** Writes a file; it is replaced as a whole once all bytes have arrived, within 30 s. */
  async write(path: FilePath, content: FileContent, { bytes, ...options }: WriteOptions = {}): Promise<void> {
    const request = { ...queried(path, options), content: sentContent(content, bytes) }
    await this.#transport.ask('PUT', this.#path, request)
  }

  /** Reads a directory as a tar archive, in pieces. It is complete when the iteration ends without an error. */
  downloadArchive(path: FilePath, options: RequestOptions = {}): AsyncGenerator<Uint8Array, void, void> {
    return this.#transport.downloadPieces(`${this.#path}/archive`, queried(path, options))
  }

  /** Extracts a tar archive into a directory. Files extracted before a failure remain. */
  async uploadArchive(path: FilePath, archive: Archive, options: UploadOptions = {}): Promise<void> {
    const request = { ...queried(path, options), content: { data: archiveData(archive) } }
    await this.#transport.ask('PUT', `${this.#path}/archive`, request)
  }

  /** Lists a directory. */
  async list(path: FilePath, options: RequestOptions = {}): Promise<readonly FileInfo[]> {
    const request = queried(path, options)
    const answer = await this.#transport.ask<{ files: FileInfo[] }>('GET', `${this.#path}/list`, request)
    return answer.files
  }

  /** Returns type, size, permissions and time of a file. */
  stat(path: FilePath, options: RequestOptions = {}): Promise<FileInfo> {
    return this.#transport.ask('GET', `${this.#path}/stat`, queried(path, options))
  }

  /** Creates a directory and the missing ones above it. */
  async mkdir(path: FilePath, { signal }: RequestOptions = {}): Promise<void> {
    await this.#transport.ask('POST', `${this.#path}/directory`, { body: fieldOf('path', path), signal })
  }

  /** Moves or renames a file or directory. */
  async move(from: FilePath, to: FilePath, { signal, ...options }: MoveOptions = {}): Promise<void> {
    const body = { ...fieldOf('from', from), ...fieldOf('to', to), ...options }
    await this.#transport.ask('POST', `${this.#path}/move`, { body, signal })
  }

  /** Watches a directory: yields `ready`, and then its changes. Ending the iteration ends the watch. */
  async *watch(path: FilePath, options: WatchOptions = {}): AsyncGenerator<WatchEvent, void, void> {
    for await (const { event, data } of this.#transport.events(
      'GET',
      `${this.#path}/watch`,
      queried(path, options),
    )) {
      if (event === 'ready') yield { type: 'ready' }
      if (event === 'change') yield data as WatchEvent
    }
    throw new ConnectionError(
      `the connection to the watch of ${typeof path === 'string' ? path : path.encoded} was lost`,
    )
  }

  /** Removes a file or directory. */
  async remove(path: FilePath, options: RemoveOptions = {}): Promise<void> {
    await this.#transport.ask('DELETE', this.#path, queried(path, options))
  }
}

/** Returns the content of a request with an archive. */
export function archiveData(archive: Archive): Uint8Array | Readable {
  if (archive instanceof Uint8Array) return archive
  return Readable.from(archive instanceof Blob ? archive.stream() : archive)
}

/** Returns a path in the field that its form requires. */
function fieldOf(name: 'path' | 'from' | 'to', path: FilePath): Readonly<Record<string, string>> {
  return typeof path === 'string' ? { [name]: path } : { [`${name}Encoded`]: path.encoded }
}

function queried(
  path: FilePath,
  { signal, ...query }: ReadOptions & WriteOptions & RemoveOptions & WatchOptions,
): Request {
  return { query: { ...fieldOf('path', path), ...query }, signal }
}

function sentContent(content: FileContent, bytes: number | undefined): NonNullable<Request['content']> {
  if (content instanceof Blob) return { bytes: content.size, data: Readable.from(content.stream()) }
  if (typeof content !== 'string' && !(content instanceof Uint8Array)) {
    if (bytes === undefined)
      throw new TypeError('the length of a stream is unknown: set the option "bytes", or pass a Blob')
    return { bytes, data: Readable.from(ofLength(content, bytes)) }
  }
  const data = typeof content === 'string' ? Buffer.from(content) : content
  return { bytes: data.length, data }
}

async function* ofLength(content: AsyncIterable<Uint8Array>, bytes: number): AsyncGenerator<Uint8Array> {
  let left = bytes
  for await (const piece of content) {
    left -= piece.length
    if (left < 0) break
    yield piece
  }
  if (left !== 0) throw new RangeError(`the stream does not contain exactly ${bytes} bytes`)
}
