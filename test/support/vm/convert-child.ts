// Converts an archive in a separate process that can be killed: node convert-child.ts TASK
import { Pool } from '../../../src/lib/pool/pool.ts'
import { convert } from '../../../src/workspace/image/convert/convert.ts'
import type { ConfiguredKernel } from '../../../src/workspace/image/convert/kernel-source.ts'
import { ImageStore } from '../../../src/workspace/image/image-store.ts'
import { tarSource } from '../../../src/workspace/image/source/tar-source.ts'
import { systemClock } from '../../../src/lib/clock/clock.ts'

const task = JSON.parse(process.argv[2] ?? '') as {
  readonly root: string
  readonly archive: string
  readonly guestDir: string
  readonly kernel: ConfiguredKernel
}
const { root, archive, guestDir, kernel } = task
const store = await ImageStore.open({ root, pinnedDigests: () => Promise.resolve(new Set()) })
const pool = new Pool({ name: 'image' })
const source = await tarSource(archive, { store, pool })
const options = { progress: (message: string) => console.log(message) }
const parts = { store, backend: 'qemu', pool, kernel, guestDir, clock: systemClock } as const
const { digest } = await convert(parts, source, options)
await pool.close()
console.log(digest)
