import { mkdir, stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { getSystemErrorMessage } from 'node:util'
import { ConfinedTree } from '../../../../lib/fs/confined-tree.ts'
import { ignoreMissing } from '../../../../lib/fs/ignore-missing.ts'
import type { TarEntry } from '../../../../lib/tar/entry.ts'
import { readTar, type TarItem } from '../../../../lib/tar/read-tar.ts'
import type { CopyMeter } from './meter.ts'

/**
 * Extracts an untrusted archive of one file or directory, or of a directory's contents. Nothing outside the target is changed.
 *
 * @param base name of the source, with which every name in the archive must begin; '' for a directory's contents
 * @throws Error when the archive is invalid or a file cannot be created; files created before remain
 */
export async function extractArchive(
  archive: AsyncIterable<Buffer>,
  base: string,
  target: string,
  meter: CopyMeter,
): Promise<void> {
  let opened: { readonly tree: ConfinedTree; readonly top: string } | undefined
  try {
    for await (const item of readTar(archive, { acceptsSparse: true })) {
      if (opened === undefined) {
        const { root, top } = await placeFor(target, base, item.entry.type === 'directory')
        opened = { tree: await ConfinedTree.open(root), top }
      }
      await extract(opened.tree, item, { base, top: opened.top }, meter)
    }
  } finally {
    await opened?.tree.close()
  }
}

/** Where the archive's top entry is created. */
interface Place {
  /** An existing directory. */
  readonly root: string
  /** Path of the top entry in it; '' if it is the top entry. */
  readonly top: string
}

/** Applies the rules of `cp`: an existing directory receives the source, otherwise the target is its new name. */
async function placeFor(target: string, base: string, isDirectory: boolean): Promise<Place> {
  const existing = await stat(target).catch(ignoreMissing)
  if (existing?.isDirectory() === true) return { root: target, top: base }
  if (isDirectory) {
    if (existing !== undefined) throw new Error(`"${target}" is a file, but the source is a directory`)
    await mkdir(target)
    return { root: target, top: '' }
  }
  if (target.endsWith('/')) throw new Error(`the directory "${target}" does not exist; create it first`)
  return { root: dirname(target), top: Buffer.from(basename(target)).toString('latin1') }
}

async function extract(
  tree: ConfinedTree,
  { entry, content }: TarItem,
  { base, top }: { readonly base: string; readonly top: string },
  meter: CopyMeter,
): Promise<void> {
  const path = placed(entry.path, base, top)
  try {
    switch (entry.type) {
      case 'directory':
        return await tree.directory(path, entry)
      case 'file':
        await tree.file(path, counting(content, meter), entry)
        break
      case 'link':
        await tree.link(path, entry.linkPath)
        break
      case 'hardlink':
        await tree.hardlink(path, placed(entry.linkPath, base, top))
        break
      case 'other':
        meter.skipped++
        return
    }
    meter.files++
  } catch (error) {
    throw withPath(error, entry)
  }
}

async function* counting(content: AsyncIterable<Buffer>, meter: CopyMeter): AsyncGenerator<Buffer> {
  for await (const chunk of content) {
    meter.add(chunk.length)
    yield chunk
  }
}

/** Replaces the source's own name, with which every name of the archive must begin, by the target's. */
function placed(path: string, base: string, top: string): string {
  const names = path.split('/').filter((name) => name !== '' && name !== '.')
  if (path.startsWith('/') || (base !== '' && names.shift() !== Buffer.from(base).toString('latin1')))
    throw new Error(`the archive contains "${path.slice(0, 200)}", which is outside the source`)
  return [top, ...names].filter((name) => name !== '').join('/')
}

/** Names the file in a system's error, whose own path is a descriptor. */
function withPath(error: unknown, { path }: TarEntry): unknown {
  const { errno, syscall } = error as NodeJS.ErrnoException
  if (errno === undefined || syscall === undefined) return error
  const name = Buffer.from(path.slice(0, 200), 'latin1').toString()
  return new Error(`cannot create "${name}": ${getSystemErrorMessage(errno)}`, { cause: error })
}
