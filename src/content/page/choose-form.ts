import type { EncodedForm, ObjectCache, Sendable } from '../cache/object-cache.ts'
import { codingsOf } from './accepts.ts'
import { contentTypeOf, isEncoded, isHtmlPage, isText } from './content-type.ts'

/** A smaller object fits into one packet anyway. */
const MIN_BYTES = 1_024

/** A form in which an object can be sent: unencoded or compressed. */
export interface Form {
  readonly contentType: string
  /** Undefined if unencoded. */
  readonly coding: string | undefined
  /** Source of the bytes if they are not in memory. */
  readonly source: Sendable
  readonly bytes: Buffer | undefined
  readonly size: number
  /** Time of the last change of the page, in milliseconds since the epoch. */
  readonly lastModifiedMs: number
  /** Distinguishes the pages that share a source; empty if only one can use it. */
  readonly variant: string
  /** Whether clients that accept other codings get another form. */
  readonly varies: boolean
  /** Whether clients that accept Markdown get another form, or those that do not. */
  readonly variesByType: boolean
}

/** Chooses the form of an object for a client; synchronous if the cache has it. */
export function chooseForm(
  cache: ObjectCache,
  object: Sendable,
  acceptEncoding: string | undefined,
): Form | Promise<Form> {
  return (
    freshForm(cache, object, acceptEncoding) ??
    cache
      .findForm(object, codingsOf(acceptEncoding))
      .then((encoded) => (encoded === undefined ? formAsItIs(object) : inCoding(formAsItIs(object), encoded)))
  )
}

/** Returns the form that `chooseForm` chooses, if the cache has it. */
export function freshForm(
  cache: ObjectCache,
  object: Sendable,
  acceptEncoding: string | undefined,
): Form | undefined {
  const asItIs = formAsItIs(object)
  if (!asItIs.varies) return asItIs
  const [coding] = codingsOf(acceptEncoding)
  if (coding === undefined) return asItIs
  const encoded = cache.freshForm(object, coding)
  return encoded && inCoding(asItIs, encoded)
}

function inCoding(asItIs: Form, encoded: EncodedForm): Form {
  const { source, bytes } = encoded
  const size = bytes?.length ?? source.info.size
  // A compressed form that was stored later has its own date, unless a publication dates the page.
  const lastModifiedMs = asItIs.variant === '' ? source.info.lastModifiedMs : asItIs.lastModifiedMs
  return { ...asItIs, ...encoded, size, lastModifiedMs }
}

const known = new WeakMap<Sendable, Form>()

function formAsItIs(object: Sendable): Form {
  let form = known.get(object)
  if (form === undefined) known.set(object, (form = makeForm(object)))
  return form
}

function makeForm(object: Sendable): Form {
  const { info, published } = object
  const { size, contentEncoding } = info
  const { header: contentType } = contentTypeOf(object)
  return {
    contentType,
    coding: contentEncoding,
    source: object,
    bytes: object.is === 'cached' ? object.bytes : undefined,
    size,
    lastModifiedMs: published?.modifiedMs ?? info.lastModifiedMs,
    variant: published === undefined ? '' : `${contentType} ${published.modifiedMs}`,
    // An object that was compressed before it was stored is sent unchanged.
    varies: !isEncoded(object) && isText(contentType) && size >= MIN_BYTES,
    variesByType: (object.is === 'cached' && object.isMarkdown === true) || isHtmlPage(object),
  }
}
