import { Type } from '../../lib/schema/type.ts'
import type { Bytes } from '../bytes.ts'

export const bytesSchema = Type.Object({
  files: Type.Optional(Type.Integer({ description: 'how many files, where that is known' })),
  logical_bytes: Type.Integer({ description: 'apparent file sizes' }),
  physical_bytes: Type.Integer({ description: 'allocated blocks times 512' }),
})

export interface WireBytes {
  readonly files?: number
  readonly logical_bytes: number
  readonly physical_bytes: number
}

export function bytesToWire({ files, logicalBytes, physicalBytes }: Bytes): WireBytes {
  return { ...(files > 0 && { files }), logical_bytes: logicalBytes, physical_bytes: physicalBytes }
}
