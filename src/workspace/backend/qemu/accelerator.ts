import { constants } from 'node:fs'
import { access, readFile } from 'node:fs/promises'
import type { Accelerator } from './command-line.ts'

export const ACCELERATORS = ['auto', 'kvm', 'tcg'] as const
const KVM = '/dev/kvm'
const PROCESSORS = '/proc/cpuinfo'

/** What runs the guest's code: the host's processor where it may be used, else QEMU itself, ten times slower. */
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

/** A machine may have KVM's device and not the part of the processor: one in a cloud, say. Others than x86 list no such part. */
async function canVirtualize(host: {
  readonly processors: string
  readonly architecture: string
}): Promise<boolean> {
  if (host.architecture !== 'x64') return true
  return /^flags\s*:.*\b(?:vmx|svm)\b/m.test(await readFile(host.processors, 'utf8'))
}
