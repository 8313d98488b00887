import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import type { Accelerator } from './command-line.ts'

export const ACCELERATORS = ['auto', 'kvm', 'tcg'] as const
const KVM = '/dev/kvm'

/** What runs the guest's code: the host's processor where it may be used, else QEMU itself, ten times slower. */
export async function findAccelerator({
  accelerator,
}: {
  readonly accelerator: 'auto' | Accelerator
}): Promise<Accelerator> {
  if (accelerator !== 'auto') return accelerator
  return access(KVM, constants.R_OK | constants.W_OK).then(
    () => 'kvm',
    () => 'tcg',
  )
}
