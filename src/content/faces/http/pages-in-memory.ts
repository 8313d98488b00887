import type { IncomingMessage, ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import { COMMON_HEADERS, type EarlyRoute } from '../../../lib/http/server.ts'
import { type Form, freshForm } from '../../page/choose-form.ts'
import { isUnchanged } from '../../page/conditional.ts'
import { keyOf } from '../../page/find-page.ts'
import { prefersMarkdown } from '../../page/accepts.ts'
import type { RequestPath } from '../../page/request-path.ts'
import { knownReader, PAGES, REPO_HOST_HEADERS } from './admission.ts'
import type { ContentFace } from './face.ts'
import { logRead } from './log-reads.ts'
import { formHeaders, type FormHeaders } from './send-object.ts'

const MAX_TARGETS = 10_000
const MAX_TARGET = 512

/** Result of routing a host and a target, which never changes. */
interface Target {
  /** Repository of a separate host; undefined on the common host. */
  readonly repo: string | undefined
  /** Path on the common host. */
  readonly path: RequestPath
  readonly key: string
}

/**
 * Answers requests for pages that are in memory before the router and its hooks, which take most of the time. See
 * DESIGN.md for what it may answer.
 */
export class PagesInMemory implements EarlyRoute {
  readonly route = PAGES
  readonly #face: ContentFace
  readonly #targets = new LRUCache<string, Target>({ max: MAX_TARGETS })

  constructor(face: ContentFace) {
    this.#face = face
  }

  /**
   * Remembers that the route of all pages has sent an object for a request.
   *
   * @param repo of a separate host @param path on the common host
   */
  learn(request: IncomingMessage, repo: string | undefined, path: RequestPath): void {
    const text = textOf(request)
    if (text.length <= MAX_TARGET) this.#targets.set(text, { repo, path, key: keyOf(path) })
  }

  /** Answers with status 200 or 304, which it returns; returns undefined if the request must be routed. */
  answer(request: IncomingMessage, response: ServerResponse): number | undefined {
    const { method, headers } = request
    if (method !== 'GET' || headers.range !== undefined || prefersMarkdown(headers.accept)) return undefined
    const target = this.#targets.get(textOf(request))
    if (target === undefined) return undefined
    const { path, key, repo } = target
    const reader = knownReader(this.#face, request, repo)
    if (reader === undefined) return undefined
    const { cache, finder } = this.#face
    const form = cache.uncountedUnlessFound(() => {
      const object = finder.fresh(path, key, reader.grants)
      const found = object && freshForm(cache, object, headers['accept-encoding'])
      return found?.bytes === undefined ? undefined : found
    })
    if (form?.bytes === undefined) return undefined
    const ready = readyOf(form)
    const status = isUnchanged(headers, ready.etag, form.lastModifiedMs) ? 304 : 200
    const head = status === 304 ? ready.unchanged : ready.whole
    response.writeHead(status, repo === undefined ? head : [...head, ...ON_REPO_HOSTS])
    if (status === 304) response.end()
    else response.end(cache.textOf(form.bytes) ?? form.bytes, 'latin1')
    logRead(this.#face, { reader, path, method, status })
    return status
  }
}

function textOf({ headers: { host = '' }, url = '' }: IncomingMessage): string {
  return `${host} ${url}`
}

/** Complete headers of a form's responses: names and values alternate. */
interface Ready {
  readonly etag: string
  readonly whole: string[]
  readonly unchanged: string[]
}

const ON_REPO_HOSTS = Object.entries(REPO_HOST_HEADERS).flat()
const kept = new WeakMap<FormHeaders, Ready>()

function readyOf(form: Form): Ready {
  const shown = formHeaders(form)
  let ready = kept.get(shown)
  if (ready === undefined) {
    const unchanged = Object.entries({ ...COMMON_HEADERS, ...shown }).flat()
    const whole = [...unchanged, 'content-length', String(form.size)]
    kept.set(shown, (ready = { etag: shown.etag, whole, unchanged }))
  }
  return ready
}
