import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ObjectCache } from '../../cache/object-cache.ts'
import { chooseForm, type Form } from '../../page/choose-form.ts'
import { isSame, isUnchanged, tagOf } from '../../page/conditional.ts'
import type { Page } from '../../page/find-page.ts'
import { parseRange } from '../../page/range.ts'
import type { ByteRange } from '../../store/store.ts'

type ObjectPage = Extract<Page, { readonly is: 'object' }>

/**
 * Answers with an object: 200, 206, 304, 404 or 416. What is not in memory goes from the store to the reader as it comes; `changed`,
 * and no answer, where it is another object by now.
 */
export async function sendObject(
  cache: ObjectCache,
  { object, staleMs, isNotFound }: ObjectPage,
  { headers, method }: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply | 'changed'> {
  // A range is one of the object as it is.
  const accept = headers.range === undefined ? [headers['accept-encoding'] ?? []].flat().join() : undefined
  const form = await chooseForm(cache, object, accept)
  const { lastModifiedMs } = form.source.info
  const shown = headersOf(form)
  const { etag: tag = '' } = shown
  const describe = (status: number): FastifyReply => {
    void reply.headers(shown)
    if (staleMs !== undefined)
      void reply.header('age', Math.round(staleMs / 1000)).header('warning', '110 - "Response is Stale"')
    return reply.status(status)
  }
  if (!isNotFound && isUnchanged(headers, tag, lastModifiedMs)) return describe(304).send()
  const isWhole = isNotFound || !isSame([headers['if-range'] ?? []].flat()[0], tag, lastModifiedMs)
  const range = isWhole ? 'none' : parseRange(headers.range, form.size)
  if (range === 'unsatisfiable') return describe(416).header('content-range', `bytes */${form.size}`).send()
  const part = range === 'none' ? undefined : range
  const body = method === 'HEAD' ? undefined : await bodyOf(cache, form, part)
  if (body === 'changed') return 'changed'
  void describe(part === undefined ? (isNotFound ? 404 : 200) : 206)
  if (part !== undefined) void reply.header('content-range', `bytes ${part.first}-${part.last}/${form.size}`)
  return reply
    .header('content-length', part === undefined ? form.size : part.last - part.first + 1)
    .send(body)
}

function bodyOf(cache: ObjectCache, { bytes, source }: Form, range: ByteRange | undefined) {
  if (bytes === undefined) return cache.stream(source.info, range)
  return range === undefined ? bytes : bytes.subarray(range.first, range.last + 1)
}

type Headers = Readonly<Record<string, string>>

/** Headers of the forms of an object, which are the same each time that it is sent. */
const kept = new WeakMap<object, Map<string, Headers>>()

function headersOf(form: Form): Headers {
  const forms = kept.get(form.source) ?? new Map<string, Headers>()
  kept.set(form.source, forms)
  const key = form.coding ?? ''
  const headers = forms.get(key) ?? makeHeaders(form)
  forms.set(key, headers)
  return headers
}

function makeHeaders({ source, coding = '', contentType, varies }: Form): Headers {
  return {
    'content-type': contentType,
    etag: tagOf(source.info.etag, coding === '' ? undefined : coding),
    'last-modified': new Date(source.info.lastModifiedMs).toUTCString(),
    // Readers ask each time whether it is still the same; nothing on the way may keep it.
    'cache-control': 'private, no-cache',
    'accept-ranges': 'bytes',
    ...(varies && { vary: 'accept-encoding' }),
    ...(coding !== '' && { 'content-encoding': coding }),
  }
}
