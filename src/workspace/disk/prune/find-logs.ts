import { lstat } from 'node:fs/promises'
import { messageOf } from '../../../lib/errors/message.ts'
import { filesOf, type MachineRoot } from '../machine-root.ts'
import type { Candidate, Findings, Skipped } from './candidate.ts'
import { truncateLog } from './truncate-log.ts'

/** Linux and macOS report blocks in units of 512 bytes, regardless of the file system's block size. */
const BLOCK_BYTES = 512
/** vfkit does not append to its log (https://github.com/crc-org/vfkit, pkg/vf/virtio.go). */
const OVERWRITTEN =
  'its monitor continues at its old offset in the log; the gap reads as NULs and uses no disk space'

/** Finds console logs that are longer than the tail to keep. */
export async function findLogs(roots: readonly MachineRoot[], tailBytes: number): Promise<Findings> {
  const candidates: Candidate[] = []
  const skipped: Skipped[] = []
  const notes: string[] = []
  for (const root of roots) {
    if (root.backend === 'firecracker') {
      notes.push('firecracker: there are no console logs')
      continue
    }
    const files = filesOf(root)
    for (const { key, reading } of await files.list()) {
      const name = reading.is === 'valid' ? reading.record.name : key
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
            // If its metadata is unreadable, the VM may be running.
            const now = await files.read(key)
            const isLive = now.is !== 'valid' || now.record.run !== null
            const { freed, note } = await truncateLog(files.instanceOf(key), tailBytes, isLive)
            const messages = [note, isLive && root.backend === 'vz' ? OVERWRITTEN : undefined]
            const message = messages.filter((each) => each !== undefined).join('; ')
            return { is: 'truncated', freed, ...(message !== '' && { note: `${name}: ${message}` }) }
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
