import { join } from 'node:path'
import { packageRoot } from '../../../lib/process/package.ts'
import { findProgram } from '../../../lib/process/find-program.ts'

/** Finds a helper of QEMU: the configured one, else the first installed one. */
export async function findHelper(
  configured: string | undefined,
  name: keyof typeof PLACES,
): Promise<string | undefined> {
  for (const place of configured === undefined ? PLACES[name] : [configured]) {
    const found = await findProgram(place)
    if (found !== undefined) return found
  }
  return undefined
}

const PLACES = {
  // scripts/setup builds it inside the checkout.
  'vhost-device-vsock': ['vhost-device-vsock', join(packageRoot, '.node/tools/bin/vhost-device-vsock')],
  // Part of QEMU before version 8, a separate package since.
  virtiofsd: ['/usr/lib/qemu/virtiofsd', '/usr/libexec/virtiofsd', 'virtiofsd'],
} as const
