const ALIGN = 4
const HEADER_BYTES = 110
const TRAILER = 'TRAILER!!!'

const KIND = { file: 0o100000, directory: 0o040000, device: 0o020000 } as const

/** An entry of an archive; `path` has no leading slash. Parents precede their children. */
export type CpioEntry =
  | { readonly is: 'directory'; readonly path: string; readonly mode: number }
  | { readonly is: 'file'; readonly path: string; readonly mode: number; readonly content: Uint8Array }
  /** A character device. */
  | {
      readonly is: 'device'
      readonly path: string
      readonly mode: number
      readonly major: number
      readonly minor: number
    }

/**
 * Returns an archive in the format that kernels unpack as an initrd: cpio "newc", as described in the
 * kernel's Documentation/driver-api/early-userspace/buffer-format.rst. Owners are root and times are 0, so
 * that the output is reproducible.
 */
export function cpioArchive(entries: readonly CpioEntry[]): Buffer {
  const parts = entries.flatMap((entry, index) => record(entry, index + 1))
  parts.push(...record({ is: 'end', path: TRAILER, mode: 0 }, 0))
  return Buffer.concat(parts)
}

function record(
  entry: CpioEntry | { readonly is: 'end'; readonly path: string; readonly mode: number },
  inode: number,
): Buffer[] {
  const content = entry.is === 'file' ? entry.content : new Uint8Array()
  const path = Buffer.from(`${entry.path}\0`)
  const kind = entry.is === 'end' ? 0 : KIND[entry.is]
  const [major, minor] = entry.is === 'device' ? [entry.major, entry.minor] : [0, 0]
  const links = entry.is === 'directory' ? 2 : 1
  const fields = [
    inode,
    kind | entry.mode,
    0,
    0,
    links,
    0,
    content.length,
    0,
    0,
    major,
    minor,
    path.length,
    0,
  ]
  const header = `070701${fields.map((field) => field.toString(16).padStart(8, '0')).join('')}`
  return [
    Buffer.from(header, 'latin1'),
    path,
    padding(HEADER_BYTES + path.length),
    Buffer.from(content.buffer, content.byteOffset, content.byteLength),
    padding(content.length),
  ]
}

function padding(bytes: number): Buffer {
  return Buffer.alloc((ALIGN - (bytes % ALIGN)) % ALIGN)
}
