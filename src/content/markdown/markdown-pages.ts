import { LRUCache } from 'lru-cache'
import type { Logger } from '../../lib/log/logger.ts'
import { IdlePool } from '../../lib/pool/idle-pool.ts'
import { workerFile } from '../../lib/pool/worker-file.ts'
import type { CachedObject } from '../cache/object-cache.ts'
import { fault } from '../errors.ts'
import { tagOf } from '../page/conditional.ts'
import { contentTypeOf } from '../page/content-type.ts'
import type { MarkdownPage } from './to-markdown.ts'

/** Changes when the same page yields other Markdown than before. */
const FORMAT = 'markdown-2'
const THREAD_HEAP_MB = 256
const IDLE_MS = 600_000
const CONVERT_MS = 10_000
/** Maximum waiting conversions; more would only time out. */
const MAX_WAITING = 64
/** How long a page is not tried again after an error. */
const REST_MS = 60_000
const ENTRY_BYTES = 512

/** A page to convert, and the name of its encoding, if it is known. */
export interface MarkdownTask {
  readonly bytes: Uint8Array
  readonly charset: string | undefined
}

/** Converts HTML pages in memory to Markdown, in a worker. The same page yields the same object while it is kept. */
export class MarkdownPages {
  readonly #logger: Logger
  readonly #pool: IdlePool
  readonly #pages: LRUCache<CachedObject, CachedObject>
  readonly #failed = new LRUCache<string, true>({ max: 1_000, ttl: REST_MS })
  readonly #converting = new Map<CachedObject, Promise<CachedObject>>()

  /** @param maxBytes memory for the Markdown */
  constructor(maxBytes: number, logger: Logger) {
    this.#logger = logger
    this.#pool = new IdlePool(
      { name: 'content-markdown', maxThreads: 1, maxHeapMb: THREAD_HEAP_MB, logger },
      IDLE_MS,
    )
    this.#pages = new LRUCache({
      maxSize: Math.max(1, maxBytes),
      // The page itself stays in memory as a key.
      sizeCalculation: (markdown, page) => markdown.bytes.length + page.bytes.length + ENTRY_BYTES,
    })
  }

  /**
   * Returns the Markdown of an HTML page.
   *
   * @throws MARKDOWN_UNAVAILABLE when it cannot be converted now
   */
  async find(page: CachedObject): Promise<CachedObject> {
    const known = this.#pages.get(page)
    if (known !== undefined) return known
    const running = this.#converting.get(page)
    if (running !== undefined) return running
    const converting = this.#convert(page).finally(() => this.#converting.delete(page))
    this.#converting.set(page, converting)
    return converting
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  async #convert(page: CachedObject): Promise<CachedObject> {
    const { etag, key } = page.info
    const id = `${etag} ${key}`
    if (this.#converting.size >= MAX_WAITING || this.#failed.has(id)) throw unavailable()
    try {
      const options = { timeoutMs: CONVERT_MS }
      const task: MarkdownTask = { bytes: page.bytes, charset: contentTypeOf(page).charset }
      const converted = await this.#pool.run(workerFile('content-markdown'), task, options)
      const markdown = asObject(page, Buffer.from((converted as MarkdownPage).markdown))
      this.#pages.set(page, markdown)
      return markdown
    } catch (error) {
      this.#failed.set(id, true)
      this.#logger.warn({ err: error, key }, 'a page cannot be converted to Markdown')
      throw unavailable(error)
    }
  }
}

function asObject(page: CachedObject, bytes: Buffer): CachedObject {
  const { info, published } = page
  return {
    is: 'cached',
    info: {
      ...info,
      size: bytes.length,
      etag: tagOf(info.etag, FORMAT),
      contentType: 'text/markdown; charset=utf-8',
    },
    bytes,
    ...(published !== undefined && { published: { ...published, path: `${published.path}.md` } }),
    isDerived: true,
    isMarkdown: true,
  }
}

function unavailable(cause?: unknown): Error {
  return fault(
    'MARKDOWN_UNAVAILABLE',
    'this page cannot be converted to Markdown now; read it as HTML, or try again in a minute',
    cause,
  )
}
