import { LRUCache } from 'lru-cache'
import type { CachedObject, Sendable } from '../cache/object-cache.ts'
import { tagOf } from './conditional.ts'
import { contentTypeOf, isHtmlPage } from './content-type.ts'

/** Address of the script that lets readers change the version. */
export const SWITCHER_PATH = '/_versions.js'

/**
 * Added at the end, where it is also valid in a page without closing tags. Its bytes cannot be part of a script or
 * comment there unless the page leaves one open.
 */
const TAG = Buffer.from(`\n<script src="${SWITCHER_PATH}" defer></script>\n`)
const ENTRY_BYTES = 512

/** Adds the version switcher to HTML pages in memory. The same page yields the same object while it is kept. */
export class VersionSwitcher {
  readonly #pages: LRUCache<CachedObject, CachedObject>

  /** @param maxBytes memory for the pages */
  constructor(maxBytes: number) {
    this.#pages = new LRUCache({
      maxSize: Math.max(1, maxBytes),
      // The page itself stays in memory as a key.
      sizeCalculation: ({ bytes }) => 2 * bytes.length + ENTRY_BYTES,
    })
  }

  /** Returns an HTML page with the switcher; any other object, a large one, and one in UTF-16 unchanged. */
  add(object: Sendable): Sendable {
    if (!isHtmlPage(object) || contentTypeOf(object).charset?.startsWith('utf-16') === true) return object
    let page = this.#pages.get(object)
    if (page === undefined) {
      const bytes = Buffer.concat([object.bytes, TAG])
      const info = { ...object.info, size: bytes.length, etag: tagOf(object.info.etag, 'versions') }
      this.#pages.set(object, (page = { ...object, info, bytes, isDerived: true }))
    }
    return page
  }
}
