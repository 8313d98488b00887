import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import { open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../lib/errors/message.ts'
import { fault } from '../errors.ts'
import type { OwnPath } from '../own-path.ts'
import { mapConcurrently } from '../repo/repo-list.ts'
import type { HashedFile, HashMemory } from './hash-memory.ts'
import { likelySecret, readSecret } from './likely-secrets.ts'
import { OwnFiles } from './own-files.ts'
import { isKey } from '../store/store.ts'

const PARALLEL = 16
const HASHED_AT_ONCE = 256 * 1024

/** A file to publish. */
export interface LocalFile extends HashedFile {
  readonly folder: string
  readonly size: number
}

/** Returns the location of a file, which is not kept: it takes as much memory as its path and hash. */
export function locationOf({ folder, path }: LocalFile): string {
  return join(folder, path)
}

/** Files of a folder. */
export interface Listing {
  /** By path. */
  readonly files: readonly LocalFile[]
  /** Paths that are not regular files, or not valid keys; bytes that are not UTF-8 are replaced. */
  readonly skipped: readonly string[]
  readonly leftOut: readonly LeftOut[]
  /** Paths of files and folders that look like secrets, which are published nevertheless. */
  readonly likelySecrets: readonly string[]
}

/** A file or folder that is not published, because the server uses it. */
export interface LeftOut {
  readonly path: string
  readonly use: string
}

/**
 * Returns the files of a folder with their hashes. Does not follow links, so nothing outside is published.
 *
 * @param own paths that are left out
 * @param memory hashes of earlier runs
 * @throws PUBLISH_INVALID when the folder cannot be read, or belongs to an own path
 */
export async function listFolder(
  folder: string,
  own: readonly OwnPath[],
  memory?: HashMemory,
): Promise<Listing> {
  const ownFiles = await OwnFiles.find(own, folder)
  const found: Found = { paths: [], skipped: [], leftOut: [] }
  await walk(folder, '', ownFiles, found).catch((error: unknown) => {
    throw fault('PUBLISH_INVALID', `the folder ${folder} cannot be read: ${messageOf(error)}`, error)
  })
  const files: LocalFile[] = []
  const likelySecrets = new Set<string>()
  await mapConcurrently(PARALLEL, found.paths, async (path) => {
    const file = join(folder, path)
    const stats = await stat(file, { bigint: true })
    const { size, stamp, changedMs } = stampFrom(stats)
    const ownUse = ownFiles.useOf(path, stats)
    const secret = ownUse === undefined ? await readSecret(file, size) : undefined
    const use = ownUse ?? (secret === 'service token' ? secret : undefined)
    if (use !== undefined) {
      found.leftOut.push({ path, use })
      return
    }
    const likely = likelySecret(path) ?? (secret === undefined ? undefined : path)
    if (likely !== undefined) likelySecrets.add(likely)
    const sha256 = memory?.take(path, stamp) ?? (await hashOf(file, size))
    files.push({ folder, path, size, sha256, stamp, changedMs })
  })
  return {
    files: files.toSorted(byPath),
    skipped: found.skipped.toSorted(),
    leftOut: found.leftOut.toSorted(byPath),
    likelySecrets: [...likelySecrets].toSorted(),
  }
}

function byPath(a: { readonly path: string }, b: { readonly path: string }): number {
  return a.path < b.path ? -1 : 1
}

/** Paths found so far. */
interface Found {
  readonly paths: string[]
  readonly skipped: string[]
  readonly leftOut: LeftOut[]
}

async function walk(folder: string, below: string, own: OwnFiles, found: Found): Promise<void> {
  // As text, a name that is not UTF-8 would become the name of another file.
  const entries = await readdir(join(folder, below), { withFileTypes: true, encoding: 'buffer' })
  for (const entry of entries) {
    const path = below + entry.name.toString()
    const isValid = isUtf8(entry.name) && isKey(path)
    if (isValid && entry.isDirectory()) {
      const use = own.useOf(path, await stat(join(folder, path), { bigint: true }))
      if (use === undefined) await walk(folder, `${path}/`, own, found)
      else found.leftOut.push({ path, use })
    } else if (isValid && entry.isFile()) found.paths.push(path)
    else found.skipped.push(path)
  }
}

type Stamped = Pick<LocalFile, 'size' | 'stamp' | 'changedMs'>

/** Returns the stamp, size and time of the last change of a file. */
export async function stampOf(file: string): Promise<Stamped> {
  return stampFrom(await stat(file, { bigint: true }))
}

function stampFrom({ size, mtimeNs, ctimeNs, ino }: BigIntStats): Stamped {
  const latest = mtimeNs > ctimeNs ? mtimeNs : ctimeNs
  return {
    size: Number(size),
    stamp: [size, mtimeNs, ctimeNs, ino].map((each) => each.toString(36)).join('-'),
    changedMs: Number(latest / 1_000_000n),
  }
}

/** Returns the SHA-256 of a file in hexadecimal. @param size about the size of the file, in bytes */
export async function hashOf(file: string, size: number): Promise<string> {
  const hash = createHash('sha256')
  const opened = await open(file)
  try {
    const buffer = Buffer.allocUnsafe(Math.min(size + 1, HASHED_AT_ONCE))
    for (;;) {
      const { bytesRead } = await opened.read(buffer)
      if (bytesRead === 0) return hash.digest('hex')
      hash.update(buffer.subarray(0, bytesRead))
    }
  } finally {
    await opened.close()
  }
}
