import { globSync, readFileSync } from 'node:fs'

/** Memory in bytes that Linux says processes have resident. */
export interface Memory {
  readonly rss: number
  /** Of `rss`: heaps and buffers; the rest are pages of files, which the kernel can drop. */
  readonly anonymous: number
}

export function memoryOf(pids: readonly number[]): Memory {
  const sum = (field: string): number =>
    pids.reduce((total, pid) => {
      const [, kilobytes = '0'] = new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(statusOf(pid)) ?? []
      return total + Number(kilobytes) * 1024
    }, 0)
  return { rss: sum('VmRSS'), anonymous: sum('RssAnon') }
}

/** A process and all below it. */
export function processTree(pid: number): readonly number[] {
  const children = globSync(`/proc/${pid}/task/*/children`).flatMap((file) =>
    readFileSync(file, 'utf8').trim().split(' ').filter(Boolean).map(Number),
  )
  return [pid, ...children.flatMap(processTree)]
}

function statusOf(pid: number): string {
  return readFileSync(`/proc/${pid}/status`, 'utf8')
}
