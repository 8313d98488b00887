import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { run } from './run.ts'

const UPPER_DEVICE = '/dev/vdb'
const UPPER_DIR = '/run/workspace-upper'

/** Gives the blocks of deleted files back to the host, as far as that is possible, and writes everything out. */
export async function settle(): Promise<void> {
  // The overlay that stands at / passes no trimming on; its device can be mounted once more, beside it.
  mkdirSync(UPPER_DIR, { recursive: true, mode: 0o700 })
  const { status } = await run('mount', ['-t', 'ext4', UPPER_DEVICE, UPPER_DIR])
  if (status === 0) {
    await run('fstrim', [UPPER_DIR])
    await run('umount', [UPPER_DIR])
  }
  await run('sync', [])
}

/** Ends this machine. */
export async function shutDown(by: 'poweroff' | 'reboot'): Promise<void> {
  if (existsSync('/run/systemd/system')) {
    const { status } = await run('systemctl', ['--no-block', by])
    if (status === 0) return
  }
  // Where no init would do it: written out, read-only from then on, and off.
  for (const key of ['s', 'u', by === 'reboot' ? 'b' : 'o']) writeFileSync('/proc/sysrq-trigger', key)
}
