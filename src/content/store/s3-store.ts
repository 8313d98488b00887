import { createReadStream } from 'node:fs'
import { Readable, Transform } from 'node:stream'
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { isFault } from '../../lib/errors/fault.ts'
import { ignore } from '../../lib/errors/ignore.ts'
import { messageOf } from '../../lib/errors/message.ts'
import type { StoreConfig } from '../config.ts'
import { fault } from '../errors.ts'
import { parseContentEncoding } from './content-coding.ts'
import {
  type Content,
  isKey,
  type OpenedObject,
  type OpenOptions,
  type Store,
  type WriteOptions,
} from './store.ts'

const CONNECT_MS = 3_000
const MAX_SOCKETS = 64
/** Publishing can wait longer than readers. */
const WRITE_TIMEOUT_FACTOR = 6
/** A condition that no object meets. */
const NEVER = { IfMatch: '"00000000000000000000000000000000"' }

/** Condition of a write. */
type Condition = { readonly IfNoneMatch: string } | { readonly IfMatch: string }

type S3Config = Extract<StoreConfig, { readonly type: 's3' }>

/**
 * Store of objects in a bucket of any service compatible with S3. Keys in the bucket start with the
 * configured prefix.
 */
export class S3Store implements Store {
  readonly #client: S3Client
  readonly #config: S3Config
  #honorsConditions = false
  /** The form of ETags in conditions that the store has accepted. */
  #etagForm: 'quoted' | 'plain' | undefined

  constructor(config: S3Config) {
    this.#config = config
    this.#client = new S3Client({
      region: config.region,
      forcePathStyle: config.isPathStyle,
      ...(config.endpoint !== undefined && { endpoint: config.endpoint }),
      maxAttempts: 2,
      // Newer checksums break services that do not support them.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: {
        connectionTimeout: CONNECT_MS,
        httpAgent: { maxSockets: MAX_SOCKETS, keepAlive: true },
        httpsAgent: { maxSockets: MAX_SOCKETS, keepAlive: true },
      },
    })
  }

  async open(
    key: string,
    { ifNoneMatch, ifMatch, range }: OpenOptions = {},
  ): Promise<OpenedObject | 'missing' | 'unchanged' | 'changed'> {
    if (!isKey(key)) return 'missing'
    const command = new GetObjectCommand({
      ...this.#at(key),
      IfNoneMatch: ifNoneMatch,
      IfMatch: ifMatch,
      Range: range && `bytes=${range.first}-${range.last}`,
    })
    const { timeoutMs } = this.#config
    try {
      const answer = await this.#within(timeoutMs, (abortSignal) =>
        this.#client.send(command, { abortSignal }),
      )
      const total = /\/(\d+)$/.exec(answer.ContentRange ?? '')?.[1]
      return {
        key,
        size: total === undefined ? (answer.ContentLength ?? 0) : Number(total),
        etag: answer.ETag ?? '""',
        lastModifiedMs: answer.LastModified?.getTime() ?? 0,
        contentType: answer.ContentType,
        contentEncoding: parseContentEncoding(answer.ContentEncoding),
        body: guarded(answer.Body as Readable, key, answer.ContentLength ?? 0, timeoutMs),
      }
    } catch (error) {
      const status = statusOf(error)
      if (status === 304) return 'unchanged'
      if (status === 412 || status === 416) return 'changed'
      if (status === 404 && (error as Error).name !== 'NoSuchBucket') return 'missing'
      throw unavailable(key, error)
    }
  }

  async listNames(prefix: string): Promise<readonly string[]> {
    const names: string[] = []
    const start = this.#config.prefix.length + prefix.length
    for await (const page of this.#pages(prefix, '/'))
      for (const { Prefix = '' } of page.CommonPrefixes ?? []) names.push(Prefix.slice(start, -1))
    return names.filter(isKey)
  }

  async *list(prefix: string): AsyncIterable<{ readonly key: string }> {
    for await (const page of this.#pages(prefix))
      for (const { Key = '' } of page.Contents ?? []) {
        const key = Key.slice(this.#config.prefix.length)
        if (isKey(key)) yield { key }
      }
  }

  async write(key: string, content: Content, options: WriteOptions): Promise<void> {
    await this.#try(key, () => this.#put(key, content, options))
  }

  async replace(
    key: string,
    bytes: Uint8Array,
    etag: string | undefined,
    options: WriteOptions,
  ): Promise<'written' | 'changed'> {
    if (!this.#config.hasConditionalWrites) {
      await this.write(key, bytes, options)
      return 'written'
    }
    const outcome =
      etag === undefined
        ? await this.#putIf(key, bytes, options, { IfNoneMatch: '*' })
        : await this.#putIfMatch(key, bytes, options, etag)
    if (outcome === 'written') await this.#checkConditions(key, bytes, options)
    return outcome
  }

  /**
   * Checks once that the store refuses a write whose condition is not met: a store may ignore conditions. Only
   * `If-Match`, which services have later than the other: it writes nothing if the object was deleted meanwhile.
   */
  async #checkConditions(key: string, bytes: Uint8Array, options: WriteOptions): Promise<void> {
    if (this.#honorsConditions) return
    if ((await this.#putIf(key, bytes, options, NEVER)) === 'written')
      throw unconditional(this.#config.bucket, 'it ignores If-Match')
    this.#honorsConditions = true
  }

  async #putIfMatch(key: string, bytes: Uint8Array, options: WriteOptions, etag: string) {
    const put = (IfMatch: string) => this.#putIf(key, bytes, options, { IfMatch })
    const plain = etag.replaceAll('"', '')
    if (this.#etagForm === 'plain') return put(plain)
    let outcome = await put(etag)
    if (outcome === 'written') this.#etagForm = 'quoted'
    if (this.#etagForm === 'quoted') return outcome
    // Ceph's gateway compares the ETag without its quotes; a store may refuse that form.
    outcome = await put(plain).catch(ignore('a store may refuse that form', 'changed' as const))
    if (outcome === 'written') this.#etagForm = 'plain'
    return outcome
  }

  async #putIf(
    key: string,
    bytes: Uint8Array,
    options: WriteOptions,
    condition: Condition,
  ): Promise<'written' | 'changed'> {
    try {
      await this.#put(key, bytes, options, condition)
      return 'written'
    } catch (error) {
      const status = statusOf(error)
      const { name } = error as Error
      // 409: another conditional write is in progress. 404: the object was deleted.
      if (status === 412 || status === 409 || (status === 404 && name !== 'NoSuchBucket')) return 'changed'
      // Ceph's gateway, if another write of the object ends at that moment.
      if (status === 500 && name === 'UnknownError') return 'changed'
      if (status === 501) throw unconditional(this.#config.bucket, `501 ${name}`, error)
      throw unavailable(key, error)
    }
  }

  async #put(key: string, content: Content, options: WriteOptions, condition?: Condition): Promise<void> {
    if (!isKey(key)) throw fault('PUBLISH_INVALID', `"${key}" is not a valid object key`)
    const isBytes = content instanceof Uint8Array
    const command = new PutObjectCommand({
      ...this.#at(key),
      Body: isBytes ? content : createReadStream(content.file),
      ContentLength: isBytes ? content.byteLength : content.size,
      ContentType: options.contentType,
      ContentEncoding: options.contentEncoding,
      ...condition,
    })
    await (isBytes
      ? this.#within(this.#writeTimeoutMs, (abortSignal) => this.#client.send(command, { abortSignal }))
      : this.#client.send(command))
  }

  async remove(key: string): Promise<void> {
    await this.#try(key, () =>
      this.#within(this.#writeTimeoutMs, (abortSignal) =>
        this.#client.send(new DeleteObjectCommand(this.#at(key)), { abortSignal }),
      ),
    )
  }

  /** An interrupted request leaves nothing. */
  removeUnfinished(): Promise<void> {
    return Promise.resolve()
  }

  close(): void {
    this.#client.destroy()
  }

  get #writeTimeoutMs(): number {
    return this.#config.timeoutMs * WRITE_TIMEOUT_FACTOR
  }

  #at(key: string) {
    return { Bucket: this.#config.bucket, Key: this.#config.prefix + key }
  }

  async *#pages(prefix: string, delimiter?: string) {
    let next: string | undefined
    do {
      const command = new ListObjectsV2Command({
        Bucket: this.#config.bucket,
        Prefix: this.#config.prefix + prefix,
        Delimiter: delimiter,
        ContinuationToken: next,
      })
      const page = await this.#try(prefix, () =>
        this.#within(this.#config.timeoutMs, (abortSignal) => this.#client.send(command, { abortSignal })),
      )
      yield page
      next = page.IsTruncated === true ? page.NextContinuationToken : undefined
    } while (next !== undefined)
  }

  async #try<T>(key: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw unavailable(key, error)
    }
  }

  /** Cancels a request without a response in time; a response that has started may take longer. */
  async #within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController()
    const timer = setTimeout(() => controller.abort(new Error(`no answer within ${ms} ms`)), ms)
    try {
      return await work(controller.signal)
    } finally {
      clearTimeout(timer)
    }
  }
}

/** Returns a body that fails if the store closes it early, or sends nothing for too long while it is being read. */
function guarded(body: Readable, key: string, size: number, idleMs: number): Readable {
  let seen = 0
  let timer: NodeJS.Timeout | undefined
  const fail = (why: string): void => void guard.destroy(unavailable(key, new Error(why)))
  const arm = (): void => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      // A slow reader is not the store's failure.
      const waits = guard.readableLength >= guard.readableHighWaterMark || body.readableLength > 0
      if (waits) arm()
      else fail(`no data for ${idleMs} ms`)
    }, idleMs)
    timer.unref()
  }
  const guard = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      seen += chunk.length
      arm()
      done(null, chunk)
    },
    flush(done) {
      done(seen === size ? null : unavailable(key, new Error(`received ${seen} of ${size} bytes`)))
    },
  })
  // A reader gets the error; without a reader it must not crash the process.
  guard.on('error', () => undefined)
  guard.once('close', () => {
    clearTimeout(timer)
    body.destroy()
  })
  body.once('error', (error) => fail(messageOf(error)))
  body.once('close', () => {
    if (!body.readableEnded) fail('the connection was lost')
  })
  arm()
  return body.pipe(guard)
}

function statusOf(error: unknown): number | undefined {
  return (error as { readonly $metadata?: { readonly httpStatusCode?: number } }).$metadata?.httpStatusCode
}

function unconditional(bucket: string, why: string, cause?: unknown): Error {
  return fault(
    'CONDITIONS_UNSUPPORTED',
    `the store of the bucket "${bucket}" does not support conditional writes (${why}), which keep two runs from overwriting each other; use one that does, or set "store.conditional_writes" to false and never publish to one repository twice at the same time`,
    cause,
  )
}

function unavailable(key: string, error: unknown): Error {
  if (isFault(error)) return error
  const status = statusOf(error)
  const why = status === undefined ? messageOf(error) : `${status} ${(error as Error).name}`
  return fault('STORE_UNAVAILABLE', `the store could not read "${key}": ${why}`, error)
}
