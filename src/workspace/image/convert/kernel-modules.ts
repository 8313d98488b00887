import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { messageOf } from '../../../lib/errors/message.ts'
import { fault } from '../../errors.ts'
import { compressionOf, decompress } from './decompress.ts'

/** What an initrd loads: one of each row has to be there, as a module or in the kernel itself. */
const REQUIRED = [['virtio_blk'], ['ext4'], ['overlay'], ['virtio_pci', 'virtio_mmio']] as const

/** What it loads where the kernel has it: the other transports, and what a VM's user and host expect to be there. */
const WELCOME = [
  'virtio_pci',
  'virtio_mmio',
  'virtio_net',
  'virtio_console',
  'virtio_rng',
  'virtio_balloon',
  'vmw_vsock_virtio_transport',
  'virtiofs',
  '9pnet_virtio',
  '9p',
  // The checksum that ext4 asks the kernel for by name.
  'crc32c_generic',
  // A host's wish to turn the VM off, and Firecracker's, which is Ctrl-Alt-Del.
  'button',
  'evdev',
  'i8042',
  'atkbd',
] as const

/** A module as it is loaded: not compressed. */
export interface KernelModule {
  readonly name: string
  readonly content: Buffer
}

/**
 * The modules that an initrd needs, each after those it depends on, by `modules.dep` of a kernel's directory of modules;
 * `fileOf` says where a file of that directory is. Synchronous: for worker threads. Throws BACKEND_ERROR when one that is needed is missing.
 */
export function modulesToLoad(fileOf: (path: string) => string): readonly KernelModule[] {
  const table = new Map<string, { readonly path: string; readonly needs: readonly string[] }>()
  for (const line of textOf(fileOf('modules.dep'))) {
    const [path = '', needs = ''] = line.split(':')
    const paths = needs.split(' ').filter((each) => each !== '')
    table.set(nameOf(path), { path, needs: paths.map(nameOf) })
  }
  const builtIn = new Set(textOf(fileOf('modules.builtin')).map(nameOf))
  for (const names of REQUIRED)
    if (!names.some((name) => table.has(name) || builtIn.has(name)))
      throw fault(
        'BACKEND_ERROR',
        `the kernel of ${dirname(fileOf('modules.dep'))} has no ${names.join(' or ')}: take another kernel`,
      )

  const order = new Set<string>()
  const add = (name: string, above: ReadonlySet<string>): void => {
    const found = table.get(name)
    if (found === undefined || order.has(name) || above.has(name)) return
    for (const need of found.needs) add(need, new Set([...above, name]))
    order.add(name)
  }
  for (const name of [...REQUIRED.flat(), ...WELCOME]) add(name, new Set())
  return [...order].map((name) => ({
    name,
    content: readModule(fileOf(table.get(name)?.path ?? '')),
  }))
}

function readModule(path: string): Buffer {
  const content = readFileSync(path)
  const format = compressionOf(content)
  return format === undefined ? content : decompress(content, format, path)
}

function textOf(path: string): readonly string[] {
  if (!existsSync(path))
    throw fault('BACKEND_ERROR', `${path} is missing: run depmod for that kernel, or take another`)
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
  } catch (error) {
    throw fault('BACKEND_ERROR', `${path} cannot be read: ${messageOf(error)}`, error)
  }
}

/** Files say `virtio-rng.ko.xz` where the kernel says `virtio_rng`. */
function nameOf(path: string): string {
  return basename(path)
    .replace(/\.ko(?:\.\w+)?$/, '')
    .replaceAll('-', '_')
}
