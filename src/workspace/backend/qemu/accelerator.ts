import { constants } from 'node:fs'
import { access, readFile } from 'node:fs/promises'
import type { Accelerator } from './command-line.ts'

/** Values of `qemu.accel`. */
export const ACCELERATORS = ['auto', 'kvm', 'tcg'] as const
const KVM = '/dev/kvm'
const PROCESSORS = '/proc/cpuinfo'

/**
 * Returns what executes the guest's code: the host's processor if available, else QEMU itself, which is ten
 * times slower.
 */
export async function findAccelerator(
  { accel }: { readonly accel: 'auto' | Accelerator },
  host = { kvm: KVM, processors: PROCESSORS, architecture: process.arch as string },
): Promise<Accelerator> {
  if (accel !== 'auto') return accel
  try {
    await access(host.kvm, constants.R_OK | constants.W_OK)
    return (await canVirtualize(host)) ? 'kvm' : 'tcg'
  } catch {
    return 'tcg'
  }
}

/**
 * Returns whether the processor can virtualize: /dev/kvm may exist without it, for instance on a cloud host.
 * Only x86 reports it as a flag.
 */
async function canVirtualize(host: {
  readonly processors: string
  readonly architecture: string
}): Promise<boolean> {
  if (host.architecture !== 'x64') return true
  return /^flags\s*:.*\b(?:vmx|svm)\b/m.test(await readFile(host.processors, 'utf8'))
}
