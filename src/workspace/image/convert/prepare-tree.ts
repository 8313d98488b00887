import { closeSync, cpSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { ImageBackend } from '../image-backend.ts'
import { buildInitrd } from './build-initrd.ts'
import { directoryInTree, kindInTree, pathInTree, readImageFile } from './in-tree.ts'
import { installPayload } from './install-payload.ts'
import { unpackKernel } from './kernel-image.ts'
import { HEADER_LINKS } from './kernel-modules.ts'
import { type ConfiguredKernel, configuredKernel, kernelOfImage, MAX_KERNEL_BYTES } from './kernel-source.ts'
import { measureTree, type TreeMeasure } from './measure-tree.ts'
import type { ImageConfig } from '../source/rootfs-source.ts'

/** Input of prepareTree. */
export interface PrepareTask {
  /** The unpacked image. */
  readonly tree: string
  /** Output directory of the kernel and the initrd. */
  readonly target: string
  readonly backend: ImageBackend
  readonly kernel: ConfiguredKernel
  readonly guestDir: string
  readonly config: ImageConfig
  /** When unpacking started: anything newer in the tree is ours. */
  readonly startMs: number
  /** Inode numbers of files that represent device nodes. */
  readonly nodes: readonly number[]
}

/** Result of prepareTree. */
export interface PreparedTree extends TreeMeasure {
  readonly kernelVersion: string
  /** Paths in the image that are ours and must belong to root. */
  readonly ownPaths: readonly string[]
}

/**
 * Prepares an unpacked image for its file system. Synchronous: for worker threads.
 *
 * @throws BACKEND_ERROR when a part is missing or invalid
 */
export function prepareTree(task: PrepareTask): PreparedTree {
  const { tree, target, backend, guestDir, config, startMs, nodes } = task
  const kernel = kernelOfImage(tree) ?? configuredKernel(task.kernel)
  const ownPaths = [...installPayload(tree, guestDir, config)]
  if (!kernel.isOfImage) ownPaths.push(...installModules(tree, kernel.release, kernel.modules))
  const image = readImageFile(kernel.file, MAX_KERNEL_BYTES, 'the kernel')
  writeSynced(join(target, 'kernel'), bootsUnpacked(backend) ? unpackKernel(image, kernel.file) : image)
  writeSynced(join(target, 'initrd'), buildInitrd(kernel.moduleFile))
  return { ...measureTree(tree, startMs, nodes), kernelVersion: kernel.release, ownPaths }
}

/** Firecracker cannot boot a bzImage, and Apple's framework cannot boot a packed arm64 kernel. */
function bootsUnpacked(backend: ImageBackend): boolean {
  return backend === 'firecracker' || (backend === 'vz' && process.arch === 'arm64')
}

/** Installs the modules that programs in the VM load later. */
function installModules(tree: string, release: string, modules: string): readonly string[] {
  const path = `/lib/modules/${release}`
  if (kindInTree(tree, path) !== undefined) return []
  directoryInTree(tree, '/lib/modules')
  const leftOut = HEADER_LINKS.map((name) => join(modules, name))
  const filter = (from: string): boolean => !leftOut.includes(from)
  cpSync(modules, pathInTree(tree, path), { recursive: true, verbatimSymlinks: true, filter })
  return [path]
}

function writeSynced(path: string, content: Uint8Array): void {
  const file = openSync(path, 'wx', 0o600)
  try {
    for (let done = 0; done < content.length;) done += writeSync(file, content, done)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
