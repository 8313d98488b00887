import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fault } from '../../errors.ts'
import { kindInTree, pathInTree, readImageFile } from './in-tree.ts'
import { releaseOf } from './kernel-image.ts'

/** Maximum size of a kernel file; those of distributions have 5 to 60 MiB. */
export const MAX_KERNEL_BYTES = 2 ** 28

/** The kernel for images without one; this machine's newest when absent. */
export interface ConfiguredKernel {
  readonly file: string | undefined
  /** Its module directory, which contains `modules.dep`; `/lib/modules/<release>` when absent. */
  readonly modules: string | undefined
}

/** A kernel and its module directory, as paths on this machine. */
export interface KernelSource {
  readonly release: string
  readonly file: string
  readonly modules: string
  /** Locates a file of the module directory; for an image's kernel, never outside the image. */
  readonly moduleFile: (path: string) => string
  /** Whether the kernel came with the image. */
  readonly isOfImage: boolean
}

/** Returns the newest kernel of an unpacked image that has its modules. Synchronous: for worker threads. */
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
 * Returns the kernel for images without one: the configured one, else the newest in /boot. Synchronous: for
 * worker threads.
 *
 * @throws BACKEND_ERROR when there is none
 */
export function configuredKernel({ file, modules }: ConfiguredKernel): KernelSource {
  if (file === undefined) {
    const names = existsSync('/boot') ? readdirSync('/boot') : []
    const found = newest(names, (release) => ownKernel(release, `/boot/vmlinuz-${release}`, modules))
    if (found !== undefined) return found
    const remedy =
      'install one in the image (Debian: linux-image-cloud-amd64), or set image.kernel and image.modules'
    throw fault(
      'BACKEND_ERROR',
      `neither the image nor /boot on this machine contains a kernel with its modules; ${remedy}`,
    )
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

/** Resolves links, which are trusted for this machine's own files. */
function resolved(path: string): string {
  return existsSync(path) ? realpathSync(path) : path
}

function releaseFrom(file: string): string {
  const kernel = readImageFile(resolved(file), MAX_KERNEL_BYTES, 'the kernel (image.kernel)')
  return releaseOf(kernel) ?? basename(file).replace(/^(?:vmlinuz|vmlinux|Image)-/, '')
}

/** Returns the newest release, comparing numbers: 6.1.0-56 is newer than 6.1.0-9. */
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
