import { Type } from '../../lib/schema/type.ts'
import type { Bytes } from '../bytes.ts'

/** Logical and physical size. */
export const bytesSchema = Type.Object({
  files: Type.Optional(Type.Integer({ description: 'number of files, if known' })),
  logical_bytes: Type.Integer({ description: 'apparent file sizes' }),
  physical_bytes: Type.Integer({ description: 'allocated blocks times 512' }),
})

/** Sizes as clients see them. */
export interface WireBytes {
  readonly files?: number
  readonly logical_bytes: number
  readonly physical_bytes: number
}

/** Encodes sizes; omits a zero file count. */
export function bytesToWire({ files, logicalBytes, physicalBytes }: Bytes): WireBytes {
  return { ...(files > 0 && { files }), logical_bytes: logicalBytes, physical_bytes: physicalBytes }
}
