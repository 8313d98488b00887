import type { Coding, ObjectCache } from '../cache/object-cache.ts'
import { contentTypeOf, isText } from './content-type.ts'
import { codingsOf } from './accepts.ts'
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

/** Chooses the form of an object for a reader: a compressed sibling in the store, else one made here and kept. */
export async function chooseForm(
  cache: ObjectCache,
  object: Sendable,
  acceptEncoding: string | undefined,
): Promise<Form> {
  const { info } = object
  const contentType = contentTypeOf(info.key, info.contentType)
  const asItIs = (varies: boolean): Form => ({
    contentType,
    coding: info.contentEncoding,
    source: object,
    bytes: object.is === 'held' ? object.bytes : undefined,
    size: info.size,
    varies,
  })
  // What was compressed before it was stored is not taken apart.
  if (info.contentEncoding !== undefined && info.contentEncoding !== '') return asItIs(false)
  if (!isText(contentType) || info.size < LEAST_BYTES) return asItIs(false)
  for (const coding of codingsOf(acceptEncoding)) {
    const sibling = await cache.sibling(info, SUFFIX[coding])
    if (sibling !== undefined) {
      const bytes = sibling.is === 'held' ? sibling.bytes : undefined
      return { contentType, coding, source: sibling, bytes, size: sibling.info.size, varies: true }
    }
    if (object.is === 'held') {
      const bytes = await cache.compressed(object, coding)
      return { contentType, coding, source: object, bytes, size: bytes.length, varies: true }
    }
  }
  return asItIs(true)
}
