import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { BLOCK_BYTES } from '../../lib/tar/entry.ts'
import { readTar } from '../../lib/tar/read-tar.ts'
import type { Backend } from '../backend/backend.ts'
import { hangUpOnAbort } from '../backend/follow-program.ts'
import { MAX_DEV_CONTAINER_BYTES } from './dev-container.ts'

/** All archives of a workspace, which are kept in memory until they are installed. */
const MAX_BYTES = 16 * 2 ** 20
/** Part of the unpacked archive in which its description is looked for. */
const MAX_UNPACKED_BYTES = 64 * 2 ** 20
const TIMEOUT_MS = 5 * 60_000

/** A feature in an archive. */
interface FeatureArchive {
  /** Text of its devcontainer-feature.json. */
  readonly description: string
  /** The archive, a tar file in the format of gzip. */
  readonly bytes: Buffer
}

/** Downloads an archive by its address. @throws Error with a sentence if that fails */
export type Download = (url: string) => Promise<FeatureArchive>

const DOWNLOAD = `
file=$(mktemp) || exit
trap 'rm -f "$file"' EXIT
if command -v curl > /dev/null; then
  curl -fsSL --proto =https --proto-redir =https --max-filesize "$2" -o "$file" -- "$1" || exit
elif command -v wget > /dev/null; then wget -q -O "$file" "$1" || exit
else exit 127; fi
head -c "$(($2 + 1))" "$file"`

/** Returns a function that downloads by a program in a workspace, and so over its network and by its rules. */
export function downloadsInside(
  backend: Backend,
  name: string,
  { progress, signal }: { readonly progress: (message: string) => void; readonly signal: AbortSignal },
): Download {
  let left = MAX_BYTES
  return async (url) => {
    progress(`downloading ${withoutQuery(url)}`)
    const bytes = await download(backend, name, { url, maxBytes: left }, signal)
    left -= bytes.length
    return { description: await descriptionIn(bytes), bytes }
  }
}

/** Returns an address without what may be secret. */
export function withoutQuery(address: string): string {
  return address.replace(/[?#].*$/s, '').replace(/\/\/[^/]*@/, '//')
}

async function download(
  backend: Backend,
  name: string,
  { url, maxBytes }: { readonly url: string; readonly maxBytes: number },
  signal: AbortSignal,
): Promise<Buffer> {
  const giveUp = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
  const argv = ['/bin/sh', '-c', DOWNLOAD, 'sh', url, String(maxBytes)]
  const process = await backend.exec(name, { argv, stdin: false })
  const forget = hangUpOnAbort(giveUp, process)
  try {
    process.stderr.resume()
    const chunks: Buffer[] = []
    let length = 0
    for await (const chunk of process.stdout as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length <= maxBytes) chunks.push(chunk)
    }
    const { status } = await process.exitStatus
    signal.throwIfAborted()
    if (giveUp.aborted) throw new Error('the download took longer than 5 minutes')
    if (status === 127) throw new Error('neither curl nor wget is there to download it')
    if (status !== 0) throw new Error(`the download failed with status ${status}`)
    if (length > maxBytes) throw new Error('the archives of features are larger than 16 MiB')
    return Buffer.concat(chunks)
  } finally {
    forget()
  }
}

/** Returns the description in an archive. @throws Error if there is none, or the archive is damaged or too large */
async function descriptionIn(bytes: Buffer): Promise<string> {
  const unpacked = Readable.from([bytes], { objectMode: false }).pipe(createGunzip())
  let length = 0
  for await (const { entry, head, content } of readTar(unpacked)) {
    length += BLOCK_BYTES * head.length + entry.size
    if (length > MAX_UNPACKED_BYTES) break
    if (entry.type !== 'file' || !/^(?:\.\/)?devcontainer-feature\.json$/.test(entry.path)) continue
    if (entry.size > MAX_DEV_CONTAINER_BYTES) throw new Error('its description is larger than 256 KiB')
    const parts: Buffer[] = []
    for await (const part of content) parts.push(part)
    return Buffer.concat(parts).toString()
  }
  throw new Error('it has no devcontainer-feature.json')
}
