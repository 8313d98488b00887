import { globSync, readFileSync } from 'node:fs'

/** Resident memory of processes, in bytes, as Linux reports it. */
export interface Memory {
  readonly rss: number
  /** Heaps and buffers; the rest of `rss` is file pages, which the kernel can drop. */
  readonly anonymous: number
}

/** Returns the memory of all the given processes together, in bytes. */
export function memoryOf(pids: readonly number[]): Memory {
  const sum = (field: string): number =>
    pids.reduce((total, pid) => {
      const [, kilobytes = '0'] = new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(statusOf(pid)) ?? []
      return total + Number(kilobytes) * 1024
    }, 0)
  return { rss: sum('VmRSS'), anonymous: sum('RssAnon') }
}

/** Returns a process and all its descendants. */
export function processTree(pid: number): readonly number[] {
  const children = globSync(`/proc/${pid}/task/*/children`).flatMap((file) =>
    readFileSync(file, 'utf8').trim().split(' ').filter(Boolean).map(Number),
  )
  return [pid, ...children.flatMap(processTree)]
}

function statusOf(pid: number): string {
  return readFileSync(`/proc/${pid}/status`, 'utf8')
}
