import { randomFillSync } from 'node:crypto'

const BYTES = 16
/** Random bytes for the next identifiers; generating them one by one dominates the cost. */
const pool = Buffer.alloc(256 * BYTES)
let used = pool.length

/** Creates an identifier that sorts by creation time in milliseconds. Source: RFC 9562, section 5.7. */
export function uuidV7(nowMs: number): string {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const at = used
  used += BYTES
  pool.writeUIntBE(nowMs, at, 6)
  pool[at + 6] = ((pool[at + 6] ?? 0) & 0x0f) | 0x70
  pool[at + 8] = ((pool[at + 8] ?? 0) & 0x3f) | 0x80
  const hex = pool.toString('hex', at, at + BYTES)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
