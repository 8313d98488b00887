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
  const { etag, lastModifiedMs } = form.source.info
  const tag = tagOf(etag, form.coding)
  const describe = (status: number): FastifyReply => {
    setHeaders(reply, form, tag)
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

function setHeaders(reply: FastifyReply, form: Form, tag: string): void {
  void reply
    .header('content-type', form.contentType)
    .header('etag', tag)
    .header('last-modified', new Date(form.source.info.lastModifiedMs).toUTCString())
    // Readers ask each time whether it is still the same; nothing on the way may keep it.
    .header('cache-control', 'private, no-cache')
    .header('accept-ranges', 'bytes')
  if (form.varies) void reply.header('vary', 'accept-encoding')
  if (form.coding !== undefined && form.coding !== '') void reply.header('content-encoding', form.coding)
}
