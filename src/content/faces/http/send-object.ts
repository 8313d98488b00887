import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ObjectCache } from '../../cache/object-cache.ts'
import { chooseForm, type Form } from '../../page/choose-form.ts'
import { isSame, isUnchanged, tagOf } from '../../page/conditional.ts'
import type { Page } from '../../page/find-page.ts'
import { parseRange } from '../../page/range.ts'

type ObjectPage = Extract<Page, { readonly is: 'object' }>

/**
 * Responds with an object: 200, 206, 304, 404 or 416; synchronously if it is in memory. Other objects are streamed
 * from the store. Returns `changed`, without a response, if the object was replaced meanwhile.
 */
export function sendObject(
  cache: ObjectCache,
  page: ObjectPage,
  request: FastifyRequest,
  reply: FastifyReply,
): Sent | Promise<Sent> {
  const { headers } = request
  // A range always refers to the uncompressed object.
  const accept = headers.range === undefined ? headers['accept-encoding'] : undefined
  const form = chooseForm(cache, page.object, accept)
  if (form instanceof Promise) return form.then((chosen) => sendForm(cache, page, chosen, request, reply))
  return sendForm(cache, page, form, request, reply)
}

/** Whether a response was sent. */
export type Sent = 'sent' | 'changed'

function sendForm(
  cache: ObjectCache,
  { staleMs, isNotFound }: ObjectPage,
  form: Form,
  { headers, method }: FastifyRequest,
  reply: FastifyReply,
): Sent | Promise<Sent> {
  const { lastModifiedMs } = form
  const shown = formHeaders(form)
  const { etag: tag } = shown
  const describe = (status: number): FastifyReply => {
    void reply.headers(shown)
    if (staleMs !== undefined)
      void reply.header('age', Math.round(staleMs / 1000)).header('warning', '110 - "Response is Stale"')
    return reply.status(status)
  }
  if (!isNotFound && isUnchanged(headers, tag, lastModifiedMs)) return send(describe(304))
  const ifRange = headers['if-range']
  const isWhole = isNotFound || !isSame(ifRange && String(ifRange), tag, lastModifiedMs)
  const range = isWhole ? 'none' : parseRange(headers.range, form.size)
  if (range === 'unsatisfiable') return send(describe(416).header('content-range', `bytes */${form.size}`))
  const part = range === 'none' ? undefined : range
  const sendBody = (body: Buffer | Readable | undefined): Sent => {
    void describe(part === undefined ? (isNotFound ? 404 : 200) : 206)
    if (part !== undefined)
      void reply.header('content-range', `bytes ${part.first}-${part.last}/${form.size}`)
    const size = part === undefined ? form.size : part.last - part.first + 1
    return send(reply.header('content-length', size), body)
  }
  if (method === 'HEAD') return sendBody(undefined)
  if (form.bytes === undefined)
    return cache
      .stream(form.source.info, part)
      .then((body) => (body === 'changed' ? 'changed' : sendBody(body)))
  return sendBody(part === undefined ? form.bytes : form.bytes.subarray(part.first, part.last + 1))
}

function send(answer: FastifyReply, body?: Buffer | Readable): Sent {
  void answer.send(body)
  return 'sent'
}

/** Headers that describe a form. */
export type FormHeaders = Readonly<Record<string, string>> & { readonly etag: string }

const kept = new WeakMap<object, Map<string, FormHeaders>>()

/** Returns the headers that describe a form, the same object each time. */
export function formHeaders(form: Form): FormHeaders {
  let forms = kept.get(form.source)
  if (forms === undefined) kept.set(form.source, (forms = new Map()))
  const key = (form.coding ?? '') + form.variant
  let headers = forms.get(key)
  if (headers === undefined) forms.set(key, (headers = makeHeaders(form)))
  return headers
}

function makeHeaders(form: Form): FormHeaders {
  const { source, coding = '', contentType, lastModifiedMs, varies, variesByType } = form
  const vary = [...(variesByType ? ['accept'] : []), ...(varies ? ['accept-encoding'] : [])]
  return {
    'content-type': contentType,
    etag: tagOf(source.info.etag, coding === '' ? undefined : coding),
    'last-modified': new Date(lastModifiedMs).toUTCString(),
    // Readers must revalidate each time; caches on the way must not store it.
    'cache-control': 'private, no-cache',
    'accept-ranges': 'bytes',
    // Addresses of private pages are not for other sites, which must not show the pages in a frame either.
    'referrer-policy': 'same-origin',
    'content-security-policy': "frame-ancestors 'self'",
    ...(vary.length > 0 && { vary: vary.join(', ') }),
    ...(coding !== '' && { 'content-encoding': coding }),
  }
}
