import type { Coding, ObjectCache } from '../cache/object-cache.ts'
import { codingsOf } from './accepts.ts'
import { contentTypeOf, isText } from './content-type.ts'
import type { Sendable } from './find-page.ts'

const SUFFIX: Readonly<Record<Coding, string>> = { br: '.br', gzip: '.gz' }
/** What is smaller fits a packet either way. */
const LEAST_BYTES = 1_024

/** One of the forms in which an object can be sent: as it is, or compressed. */
export interface Form {
  readonly contentType: string
  /** Undefined for the object as it is. */
  readonly coding: string | undefined
  /** What is read where the bytes are not in memory. */
  readonly source: Sendable
  readonly bytes: Buffer | undefined
  readonly size: number
  /** Whether other readers get another form. */
  readonly varies: boolean
}

/**
 * Chooses the form of an object for a reader: a compressed sibling in the store, else one made here and kept. At once where
 * neither the store has to be asked nor anything to be compressed.
 */
export function chooseForm(
  cache: ObjectCache,
  object: Sendable,
  acceptEncoding: string | undefined,
): Form | Promise<Form> {
  const asItIs = formAsItIs(object)
  const codings = asItIs.varies ? codingsOf(acceptEncoding) : []
  const [coding] = codings
  if (coding === undefined) return asItIs
  const sibling = cache.freshSibling(object.info, SUFFIX[coding])
  if (sibling !== undefined && sibling !== 'none') return compressedForm(asItIs, coding, sibling)
  const made = sibling === 'none' && object.is === 'held' ? cache.freshCompressed(object, coding) : undefined
  return made === undefined ? findForm(cache, asItIs, codings) : compressedForm(asItIs, coding, object, made)
}

async function findForm(cache: ObjectCache, asItIs: Form, codings: readonly Coding[]): Promise<Form> {
  const object = asItIs.source
  for (const coding of codings) {
    const sibling = await cache.sibling(object.info, SUFFIX[coding])
    if (sibling !== undefined) return compressedForm(asItIs, coding, sibling)
    if (object.is === 'held')
      return compressedForm(asItIs, coding, object, await cache.compressed(object, coding))
  }
  return asItIs
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
  // What was compressed before it was stored is not taken apart.
  const isPlain = contentEncoding === undefined || contentEncoding === ''
  return {
    contentType,
    coding: contentEncoding,
    source: object,
    bytes: bytesOf(object),
    size,
    varies: isPlain && isText(contentType) && size >= LEAST_BYTES,
  }
}

function compressedForm(
  { contentType }: Form,
  coding: Coding,
  source: Sendable,
  bytes = bytesOf(source),
): Form {
  return { contentType, coding, source, bytes, size: bytes?.length ?? source.info.size, varies: true }
}

function bytesOf(object: Sendable): Buffer | undefined {
  return object.is === 'held' ? object.bytes : undefined
}
