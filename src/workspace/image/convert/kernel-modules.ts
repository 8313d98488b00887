import { existsSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { fault } from '../../errors.ts'
import { compressionOf, decompress } from './decompress.ts'
import { readImageFile } from './in-tree.ts'

/** Of one module, of all that an initrd holds, and of each list of modules; Debian's have under 2, 8 and 1 MiB. */
const MAX_MODULE_BYTES = 2 ** 26
const MAX_MODULES_BYTES = 96 * 2 ** 20
const MAX_LIST_BYTES = 2 ** 23
/** How far modules may depend on one another. */
const MAX_DEPTH = 100

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

/** Links in a kernel's directory of modules to the headers it was built with, which lead nowhere inside an image. */
export const HEADER_LINKS: readonly string[] = ['build', 'source']

/** A module as it is loaded: not compressed. */
export interface KernelModule {
  readonly name: string
  readonly content: Buffer
}

/** A module and its file. */
interface ModuleFile {
  readonly name: string
  readonly path: string
}

/** Reads the modules that an initrd needs, in the order of `moduleFiles`. Synchronous: for worker threads. @throws BACKEND_ERROR */
export function modulesToLoad(fileOf: (path: string) => string): readonly KernelModule[] {
  let bytes = 0
  return moduleFiles(fileOf).map(({ name, path }) => {
    const content = readModule(path)
    bytes += content.length
    if (bytes > MAX_MODULES_BYTES)
      throw fault(
        'BACKEND_ERROR',
        `the modules of ${dirname(fileOf('modules.dep'))} have more than ${MAX_MODULES_BYTES} bytes: strip them, or take another kernel`,
      )
    return { name, content }
  })
}

/**
 * The modules that an initrd needs, each after those it depends on, by `modules.dep` of a kernel's directory of modules;
 * `fileOf` says where a file of that directory is. Synchronous: for worker threads.
 *
 * @throws BACKEND_ERROR when one that is needed is missing
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
        `the kernel of ${dirname(fileOf('modules.dep'))} has no ${names.join(' or ')}: take another kernel`,
      )

  const order = new Set<string>()
  const above = new Set<string>()
  const add = (name: string): void => {
    const found = table.get(name)
    if (found === undefined || order.has(name) || above.has(name)) return
    if (above.size === MAX_DEPTH)
      throw fault(
        'BACKEND_ERROR',
        `${fileOf('modules.dep')}: modules depend on one another ${MAX_DEPTH} deep`,
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
    throw fault('BACKEND_ERROR', `${path} is missing: run depmod for that kernel, or take another`)
  return readImageFile(path, MAX_LIST_BYTES, 'the list of modules')
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
}

/** Files say `virtio-rng.ko.xz` where the kernel says `virtio_rng`. */
function nameOf(path: string): string {
  return basename(path)
    .replace(/\.ko(?:\.\w+)?$/, '')
    .replaceAll('-', '_')
}
