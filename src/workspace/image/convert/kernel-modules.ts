import { existsSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { fault } from '../../errors.ts'
import { compressionOf, decompress } from './decompress.ts'
import { readImageFile } from './in-tree.ts'

/**
 * Limits for one module, all modules of an initrd, and each module list; Debian's have under 2, 8 and 1 MiB.
 */
const MAX_MODULE_BYTES = 2 ** 26
const MAX_MODULES_BYTES = 96 * 2 ** 20
const MAX_LIST_BYTES = 2 ** 23
/** Maximum depth of module dependencies. */
const MAX_DEPTH = 100

/** Required features: one module of each row must exist or be built into the kernel. */
const REQUIRED = [['virtio_blk'], ['ext4'], ['overlay'], ['virtio_pci', 'virtio_mmio']] as const

/** Modules that are loaded if the kernel has them: other transports, and what a VM's user and host expect. */
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
  // The checksum that ext4 requests from the kernel by name.
  'crc32c_generic',
  // The host's shutdown request, and Firecracker's, which is Ctrl-Alt-Del.
  'button',
  'evdev',
  'i8042',
  'atkbd',
] as const

/** Links in a kernel's module directory to the headers it was built with, which dangle inside an image. */
export const HEADER_LINKS: readonly string[] = ['build', 'source']

/** An uncompressed module. */
export interface KernelModule {
  readonly name: string
  readonly content: Buffer
}

/** A module and its file. */
interface ModuleFile {
  readonly name: string
  readonly path: string
}

/**
 * Reads the modules that an initrd needs, in the order of `moduleFiles`. Synchronous: for worker threads.
 *
 * @throws BACKEND_ERROR when one is missing or they are too large
 */
export function modulesToLoad(fileOf: (path: string) => string): readonly KernelModule[] {
  let bytes = 0
  return moduleFiles(fileOf).map(({ name, path }) => {
    const content = readModule(path)
    bytes += content.length
    if (bytes > MAX_MODULES_BYTES)
      throw fault(
        'BACKEND_ERROR',
        `the modules of ${dirname(fileOf('modules.dep'))} exceed ${MAX_MODULES_BYTES} bytes; strip them, or use another kernel`,
      )
    return { name, content }
  })
}

/**
 * Returns the modules that an initrd needs, each after its dependencies, from the `modules.dep` of a kernel's
 * module directory; `fileOf` locates a file of that directory. Synchronous: for worker threads.
 *
 * @throws BACKEND_ERROR when a required one is missing
 */
export function moduleFiles(fileOf: (path: string) => string): readonly ModuleFile[] {
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
        `the kernel of ${dirname(fileOf('modules.dep'))} has no ${names.join(' or ')}; use another kernel`,
      )

  const order = new Set<string>()
  const above = new Set<string>()
  const add = (name: string): void => {
    const found = table.get(name)
    if (found === undefined || order.has(name) || above.has(name)) return
    if (above.size === MAX_DEPTH)
      throw fault(
        'BACKEND_ERROR',
        `${fileOf('modules.dep')}: module dependencies are more than ${MAX_DEPTH} levels deep`,
      )
    above.add(name)
    for (const need of found.needs) add(need)
    above.delete(name)
    order.add(name)
  }
  for (const name of [...REQUIRED.flat(), ...WELCOME]) add(name)
  return [...order].map((name) => ({ name, path: fileOf(table.get(name)?.path ?? '') }))
}

function readModule(path: string): Buffer {
  const content = readImageFile(path, MAX_MODULE_BYTES, 'the module')
  const format = compressionOf(content)
  return format === undefined ? content : decompress(content, format, path, MAX_MODULE_BYTES)
}

function textOf(path: string): readonly string[] {
  if (!existsSync(path))
    throw fault('BACKEND_ERROR', `${path} is missing; run depmod for that kernel, or use another kernel`)
  return readImageFile(path, MAX_LIST_BYTES, 'the list of modules')
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
}

/** Returns the kernel's name of a module: `virtio_rng` for the file `virtio-rng.ko.xz`. */
function nameOf(path: string): string {
  return basename(path)
    .replace(/\.ko(?:\.\w+)?$/, '')
    .replaceAll('-', '_')
}
