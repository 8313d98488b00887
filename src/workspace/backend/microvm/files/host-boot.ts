import { readFileSync } from 'node:fs'
import { run } from '../../../../lib/process/run.ts'

/** Another one after each start of this machine: processes known from an earlier one are gone. */
export async function readHostBoot(): Promise<string> {
  if (process.platform === 'linux') return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  return (await run('sysctl', ['-n', 'kern.bootsessionuuid'])).stdout.trim()
}
