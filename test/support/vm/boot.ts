import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { BootImage } from '../../../src/workspace/image/image-store.ts'
import { tempDir } from '../temp-dir.ts'

/**
 * Under emulation on a busy machine, the kernel calibrates its clock against a timer that never fires, and
 * hangs. It is given the frequency, which need not be exact, and the option not to wait for the timer; nokaslr for
 * the same reason.
 */
const STEADY = 'nokaslr no_timer_check tsc_early_khz=2000000'
const LIMIT_MS = 150_000
const GIB = 2 ** 30

/** Creates a fresh upper: an empty file. */
export function newUpper(gigabytes = 1, directory = tempDir()): string {
  const path = join(directory, 'upper.ext4')
  writeFileSync(path, '')
  truncateSync(path, gigabytes * GIB)
  return path
}

/** Options of a booted VM. */
export interface BootOptions {
  /** Kernel arguments, in addition to those for the console. */
  readonly words?: string
  readonly memoryMb?: number
  /** Receives the VM, which can be killed. */
  readonly onStart?: (machine: ChildProcess) => void
}

/** Boots an image in an emulated VM and waits until it powers off; returns the lines of its console. */
export async function boot(
  image: Pick<BootImage, 'kernel' | 'initrd' | 'rootfs'>,
  upper: string | undefined,
  { words = '', memoryMb = 512, onStart }: BootOptions = {},
): Promise<readonly string[]> {
  const disk = (id: string, file: string, more: string): readonly string[] => [
    '-drive',
    `id=${id},file=${file},format=raw,if=none,${more}`,
    '-device',
    `virtio-blk-device,drive=${id}`,
  ]
  const machine = process.arch === 'x64' ? 'microvm,acpi=on,pit=on,pic=on,rtc=on,accel=tcg' : 'virt,accel=tcg'
  const argv = [
    ...`-M ${machine} -cpu max -m ${memoryMb} -smp 1 -nodefaults -no-user-config`.split(' '),
    ...'-display none -no-reboot -monitor none -serial stdio'.split(' '),
    ...`-kernel ${image.kernel} -initrd ${image.initrd}`.split(' '),
    '-append',
    `console=ttyS0 loglevel=4 panic=-1 reboot=t ${STEADY} ${words}`,
    ...disk('lower', image.rootfs, 'readonly=on'),
    ...(upper === undefined ? [] : disk('upper', upper, 'discard=unmap,werror=report')),
  ]
  const program = process.arch === 'x64' ? 'qemu-system-x86_64' : 'qemu-system-aarch64'
  const child = spawn(program, argv, { stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  onStart?.(child)
  const lines: string[] = []
  let rest = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = (rest + chunk).split(/\r?\n/)
    rest = parts.pop() ?? ''
    lines.push(...parts)
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => lines.push(`qemu: ${text}`))
  const limit = setTimeout(() => {
    lines.push(`killed after ${LIMIT_MS} ms`)
    child.kill('SIGKILL')
  }, LIMIT_MS)
  await once(child, 'close')
  clearTimeout(limit)
  return [...lines, rest]
}

/** Output of the VM's first program. */
export function saidByInit(console: readonly string[]): readonly string[] {
  return console.flatMap((line) => /workspace-init: .*/.exec(line)?.[0] ?? [])
}
