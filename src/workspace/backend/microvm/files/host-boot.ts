import { readFileSync } from 'node:fs'
import { run } from '../../../../lib/process/run.ts'

/** Returns an identifier of the host's current boot: processes recorded under another one no longer exist. */
export async function readHostBoot(): Promise<string> {
  if (process.platform === 'linux') return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  return (await run('sysctl', ['-n', 'kern.bootsessionuuid'])).stdout.trim()
}
