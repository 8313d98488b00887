import { gzipSync } from 'node:zlib'
import { encodeTarHeader, TAR_END } from '../../../../src/lib/tar/encode-header.ts'
import { checksumOf, FIELDS, paddingOf } from '../../../../src/lib/tar/entry.ts'
import {
  ArchiveDigest,
  END_PATH,
  MANIFEST_PATH,
  textEntry,
} from '../../../../src/workspace/archive/format.ts'

/** A manifest as an export writes it. */
export const MANIFEST = {
  version: 1,
  name: 'imported',
  backend: 'docker',
  image: 'workspace-base:1',
  repo: '',
  cpus: 0,
  memoryMb: 0,
  network: null,
  labels: null,
  wakes: null,
  stopAfterS: null,
  suspendAfterS: null,
  environment: {},
  forwardPorts: [],
}

/** Encodes one entry of any type, with or without content. */
export function tarEntry(
  path: string,
  {
    type = '0',
    content = '',
    linkPath = '',
  }: { readonly type?: string; readonly content?: string; readonly linkPath?: string } = {},
): Buffer {
  const bytes = Buffer.from(content)
  const fields = { path, linkPath, mode: 0o755, size: bytes.length, mtimeMs: 0 }
  const head = encodeTarHeader({ type: 'file', ...fields })
  const block = head.subarray(-512)
  block.write(type, FIELDS.type[0], 'latin1')
  block.write(checksumOf(block).toString(8).padStart(6, '0'), FIELDS.checksum[0], 'latin1')
  return Buffer.concat([head, bytes, Buffer.alloc(paddingOf(bytes.length))])
}

/** Encodes a pax header for the next entry, or for all of them. */
export function paxEntry(records: Readonly<Record<string, string>>, type: 'x' | 'g' = 'x'): Buffer {
  const lines = Object.entries(records).map(([key, value]) => {
    const rest = ` ${key}=${value}\n`
    let length = rest.length + 1
    while (String(length).length + rest.length !== length) length = String(length).length + rest.length
    return `${length}${rest}`
  })
  return tarEntry('pax', { type, content: lines.join('') })
}

/** Encodes a complete archive of a workspace, uncompressed. */
export function archiveOf(
  entries: readonly Buffer[] = [tarEntry('workspace/', { type: '5' })],
  manifest: unknown = MANIFEST,
): Buffer {
  const digest = new ArchiveDigest()
  const text = typeof manifest === 'string' ? manifest : JSON.stringify(manifest)
  const all = [textEntry(MANIFEST_PATH, text), ...entries].map((each) => digest.add(each))
  return Buffer.concat([...all, textEntry(END_PATH, digest.end()), TAR_END])
}

/** Compresses an archive as an export does. */
export const compressed = (archive: Buffer): Buffer<ArrayBuffer> => Buffer.from(gzipSync(archive))
