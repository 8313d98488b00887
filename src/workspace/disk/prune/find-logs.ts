import { lstat } from 'node:fs/promises'
import { messageOf } from '../../../lib/errors/message.ts'
import { filesOf, type MachineRoot } from '../machine-root.ts'
import type { Candidate, Findings, Skipped } from './candidate.ts'
import { truncateLog } from './truncate-log.ts'

/** Linux and macOS count blocks in 512-byte units whatever a file system's own size is. */
const BLOCK_BYTES = 512
/** vfkit does not append (https://github.com/crc-org/vfkit, pkg/vf/virtio.go). */
const OVERWRITTEN =
  'its monitor goes on at its old place in the log: up to there it reads as NULs, which take nothing on disk'

/** Console logs longer than what is to be kept of each. */
export async function findLogs(roots: readonly MachineRoot[], tailBytes: number): Promise<Findings> {
  const candidates: Candidate[] = []
  const skipped: Skipped[] = []
  const notes: string[] = []
  for (const root of roots) {
    if (root.backend === 'firecracker') {
      notes.push('firecracker: it keeps no console logs')
      continue
    }
    const files = filesOf(root)
    for (const { key, reading } of await files.list()) {
      const name = reading.is === 'known' ? reading.record.name : key
      const path = files.consoleOf(key)
      try {
        const { size, blocks, mtime, ino, dev } = await lstat(path)
        if (size <= tailBytes) continue
        const share = (size - tailBytes) / size
        candidates.push({
          kind: 'log',
          name,
          path,
          backend: root.backend,
          identity: `${dev}:${ino}`,
          reason: `longer than ${tailBytes} bytes`,
          parts: [],
          freed: {
            files: 0,
            logicalBytes: size - tailBytes,
            physicalBytes: Math.floor((blocks * BLOCK_BYTES * share) / 4096) * 4096,
          },
          changedAt: mtime,
          remove: async () => {
            // Nobody can tell of one whose metadata cannot be read.
            const now = await files.read(key)
            const isLive = now.is !== 'known' || now.record.run !== null
            const { freed, note } = await truncateLog(files.instanceOf(key), tailBytes, isLive)
            const told = [note, isLive && root.backend === 'vz' ? OVERWRITTEN : undefined]
            const said = told.filter((each) => each !== undefined).join('; ')
            return { is: 'truncated', freed, ...(said !== '' && { note: `${name}: ${said}` }) }
          },
        })
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue
        skipped.push({ kind: 'log', name, path, reason: messageOf(error) })
      }
    }
  }
  return { candidates, skipped, notes }
}
