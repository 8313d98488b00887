import { join } from 'node:path'
import { packageRoot } from '../../../lib/process/package.ts'
import { findProgram } from '../../../lib/process/find-program.ts'

/** Where a helper of QEMU's can be when the configuration does not say; the first that there is. */
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
  // What scripts/setup builds lies in the checkout.
  'vhost-device-vsock': ['vhost-device-vsock', join(packageRoot, '.node/tools/bin/vhost-device-vsock')],
  // QEMU's own before version 8, else a package of its own.
  virtiofsd: ['/usr/lib/qemu/virtiofsd', '/usr/libexec/virtiofsd', 'virtiofsd'],
} as const
