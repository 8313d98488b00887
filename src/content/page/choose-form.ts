import type { EncodedForm, ObjectCache, Sendable } from '../cache/object-cache.ts'
import { codingsOf } from './accepts.ts'
import { contentTypeOf, isText } from './content-type.ts'

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
  /** Whether other clients get another form. */
  readonly varies: boolean
}

/** Chooses the form of an object for a client; synchronous if the cache has it. */
export function chooseForm(
  cache: ObjectCache,
  object: Sendable,
  acceptEncoding: string | undefined,
): Form | Promise<Form> {
  const asItIs = formAsItIs(object)
  if (!asItIs.varies) return asItIs
  const encoded = cache.formOf(object, codingsOf(acceptEncoding))
  return encoded instanceof Promise
    ? encoded.then((form) => inCoding(asItIs, form))
    : inCoding(asItIs, encoded)
}

function inCoding(asItIs: Form, encoded: EncodedForm | undefined): Form {
  if (encoded === undefined) return asItIs
  const { source, bytes } = encoded
  return { ...asItIs, ...encoded, size: bytes?.length ?? source.info.size }
}

const known = new WeakMap<Sendable, Form>()

function formAsItIs(object: Sendable): Form {
  const form = known.get(object) ?? makeForm(object)
  known.set(object, form)
  return form
}

function makeForm(object: Sendable): Form {
  const { key, size, contentEncoding, contentType: said } = object.info
  const contentType = contentTypeOf(key, said)
  // An object that was compressed before it was stored is sent unchanged.
  const isPlain = contentEncoding === undefined || contentEncoding === ''
  return {
    contentType,
    coding: contentEncoding,
    source: object,
    bytes: object.is === 'cached' ? object.bytes : undefined,
    size,
    varies: isPlain && isText(contentType) && size >= MIN_BYTES,
  }
}
