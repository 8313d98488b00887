import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { run } from './run.ts'

const UPPER_DEVICE = '/dev/vdb'
const UPPER_DIR = '/run/workspace-upper'

/** Trims the blocks of deleted files where possible and flushes all file systems. */
export async function trimAndFlush(): Promise<void> {
  // The overlay at / does not pass on trimming, so its device is mounted a second time.
  mkdirSync(UPPER_DIR, { recursive: true, mode: 0o700 })
  const { status } = await run('mount', ['-t', 'ext4', UPPER_DEVICE, UPPER_DIR])
  if (status === 0) {
    await run('fstrim', [UPPER_DIR])
    await run('umount', [UPPER_DIR])
  }
  await run('sync', [])
}

/** Shuts this machine down. */
export async function shutDown(by: 'poweroff' | 'reboot'): Promise<void> {
  if (existsSync('/run/systemd/system')) {
    const { status } = await run('systemctl', ['--no-block', by])
    if (status === 0) return
  }
  // Without an init: flush, remount read-only, power off.
  for (const key of ['s', 'u', by === 'reboot' ? 'b' : 'o']) writeFileSync('/proc/sysrq-trigger', key)
}
