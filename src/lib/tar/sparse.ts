import { BLOCK_BYTES, type Extent, numberOf, type SparseLayout, writeNumber } from './entry.ts'

/** A piece of content and its position in the file, in bytes. */
export interface PlacedPiece {
  readonly at: number
  readonly bytes: Buffer
}

const NUMBER_BYTES = 12
/** Where blocks have extents, how many, and the mark that another block follows. */
const IN_HEADER = { at: 386, count: 4, markAt: 482 }
const IN_MORE = { at: 0, count: 21, markAt: 504 }
const FILE_BYTES = [483, NUMBER_BYTES] as const
/** Limit for extents, which are collected in memory. */
const MAX_EXTENTS = 2 ** 20

/** Encodes the map of a sparse file into its header, and returns the blocks that follow. */
export function writeSparseMap(header: Buffer, { fileBytes, extents }: SparseLayout): readonly Buffer[] {
  // GNU tar creates a hole at the end by an empty extent.
  const left = [...extents, { offset: fileBytes, length: 0 }]
  const fill = (block: Buffer, { at, count, markAt }: typeof IN_HEADER): Buffer => {
    for (const [index, { offset, length }] of left.splice(0, count).entries()) {
      const from = at + 2 * NUMBER_BYTES * index
      writeNumber(block, [from, NUMBER_BYTES], offset)
      writeNumber(block, [from + NUMBER_BYTES, NUMBER_BYTES], length)
    }
    if (left.length > 0) block[markAt] = 1
    return block
  }
  writeNumber(header, FILE_BYTES, fileBytes)
  fill(header, IN_HEADER)
  const more: Buffer[] = []
  while (left.length > 0) more.push(fill(Buffer.alloc(BLOCK_BYTES), IN_MORE))
  return more
}

/**
 * Reads the map of a sparse file from its header, and from blocks that follow.
 *
 * @param contentBytes size of the content that follows
 * @throws Error when it is damaged or has too many extents
 */
export async function readSparseMap(
  header: Buffer,
  contentBytes: number,
  nextBlock: () => Promise<Buffer>,
): Promise<SparseLayout> {
  const fileBytes = numberOf(header, FILE_BYTES, 'size of a sparse file')
  const extents: Extent[] = []
  let [end, dataBytes] = [0, 0]
  const read = (block: Buffer, { at, count }: typeof IN_HEADER): void => {
    for (let from = at; from < at + 2 * NUMBER_BYTES * count; from += 2 * NUMBER_BYTES) {
      const offset = numberOf(block, [from, NUMBER_BYTES], 'sparse map')
      const length = numberOf(block, [from + NUMBER_BYTES, NUMBER_BYTES], 'sparse map')
      if (length === 0) continue
      if (offset < end || offset + length > fileBytes)
        throw new Error('the archive is damaged: a header has an invalid sparse map')
      extents.push({ offset, length })
      end = offset + length
      dataBytes += length
    }
  }
  read(header, IN_HEADER)
  let hasMore = header[IN_HEADER.markAt] !== 0
  for (let blocks = 1; hasMore; blocks++) {
    if (blocks * IN_MORE.count > MAX_EXTENTS)
      throw new Error(`the archive contains a sparse file of more than ${MAX_EXTENTS} parts`)
    const block = await nextBlock()
    read(block, IN_MORE)
    hasMore = block[IN_MORE.markAt] !== 0
  }
  if (dataBytes !== contentBytes)
    throw new Error('the archive is damaged: a sparse map has another size than its content')
  return { fileBytes, extents }
}

/** Yields the positions of content in its file; without a layout, it has no holes. */
export async function* placed(
  content: AsyncIterable<Buffer>,
  layout: SparseLayout | undefined,
): AsyncGenerator<PlacedPiece> {
  const extents = (layout?.extents ?? [{ offset: 0, length: Infinity }])[Symbol.iterator]()
  let { offset, length } = { offset: 0, length: 0 }
  for await (const chunk of content)
    for (let rest = chunk; rest.length > 0;) {
      if (length === 0) ({ offset, length } = extents.next().value as Extent)
      const bytes = rest.subarray(0, length)
      yield { at: offset, bytes }
      offset += bytes.length
      length -= bytes.length
      rest = rest.subarray(bytes.length)
    }
}
