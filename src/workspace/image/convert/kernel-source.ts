import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fault } from '../../errors.ts'
import { kindInTree, pathInTree, readImageFile } from './in-tree.ts'
import { releaseOf } from './kernel-image.ts'

/** The largest kernel file that is read; distributions' have 5 to 60 MiB. */
export const MAX_KERNEL_BYTES = 2 ** 28

/** The kernel of images that have none. Left out, this machine's newest. */
export interface ConfiguredKernel {
  readonly file: string | undefined
  /** Its directory of modules, which holds `modules.dep`; left out, `/lib/modules/<release>`. */
  readonly modules: string | undefined
}

/** A kernel, and the directory that holds its modules. Both are paths of this machine. */
export interface KernelSource {
  readonly release: string
  readonly file: string
  readonly modules: string
  /** Where a file of that directory is: never outside an image that it belongs to. */
  readonly moduleFile: (path: string) => string
  /** Whether the image came with it. */
  readonly isOfImage: boolean
}

/** The newest kernel of an unpacked image that has its modules with it. Synchronous: for worker threads. */
export function kernelOfImage(tree: string): KernelSource | undefined {
  const inImage = (path: string): string => pathInTree(tree, path)
  if (kindInTree(tree, '/boot') !== 'directory') return undefined
  return newest(readdirSync(inImage('/boot')), (release) => ({
    release,
    file: inImage(`/boot/vmlinuz-${release}`),
    modules: inImage(`/lib/modules/${release}`),
    moduleFile: (path) => inImage(`/lib/modules/${release}/${path}`),
    isOfImage: true,
  }))
}

/**
 * The kernel for images without one: the configured one, else the newest in /boot. Synchronous: for worker threads. Throws
 * BACKEND_ERROR when there is none.
 */
export function configuredKernel({ file, modules }: ConfiguredKernel): KernelSource {
  if (file === undefined) {
    const names = existsSync('/boot') ? readdirSync('/boot') : []
    const found = newest(names, (release) => ownKernel(release, `/boot/vmlinuz-${release}`, modules))
    if (found !== undefined) return found
    const remedy =
      'install one in it (Debian: linux-image-cloud-amd64), or set image.kernel and image.modules'
    throw fault('BACKEND_ERROR', `the image has no kernel with its modules, nor has /boot here: ${remedy}`)
  }
  return ownKernel(releaseFrom(file), file, modules)
}

function ownKernel(release: string, file: string, given: string | undefined): KernelSource {
  const modules = given ?? `/lib/modules/${release}`
  return {
    release,
    file: resolved(file),
    modules,
    moduleFile: (path) => resolved(join(modules, path)),
    isOfImage: false,
  }
}

/** This machine's own files may be links. */
function resolved(path: string): string {
  return existsSync(path) ? realpathSync(path) : path
}

function releaseFrom(file: string): string {
  const kernel = readImageFile(resolved(file), MAX_KERNEL_BYTES, 'the kernel (image.kernel)')
  return releaseOf(kernel) ?? basename(file).replace(/^(?:vmlinuz|vmlinux|Image)-/, '')
}

/** Debian's releases are ordered by their numbers: 6.1.0-56 after 6.1.0-9. */
function newest(
  names: readonly string[],
  sourceOf: (release: string) => KernelSource,
): KernelSource | undefined {
  return names
    .filter((name) => /^vmlinuz-[\w.+-]+$/.test(name))
    .map((name) => sourceOf(name.slice('vmlinuz-'.length)))
    .filter(({ moduleFile }) => existsSync(moduleFile('modules.dep')))
    .toSorted((a, b) => a.release.localeCompare(b.release, 'en', { numeric: true }))
    .at(-1)
}
