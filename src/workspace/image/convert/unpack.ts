import { open } from 'node:fs/promises'
import { PassThrough, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { isFault } from '../../../lib/errors/fault.ts'
import { conversionSandbox } from './conversion-sandbox.ts'
import { compressionOf, DECOMPRESSORS } from './decompress.ts'
import type { Owners } from './owners.ts'
import { Quota } from './quota.ts'
import { runTool } from './tool.ts'

/** Extended attributes that have a meaning in a VM and can be set without CAP_SYS_ADMIN. */
const ATTRIBUTES = ['user.*', 'security.capability', 'system.posix_acl_*'] as const
/** Error of tar for nodes that it may not create. tar escapes line breaks in names. */
const REFUSED_NODE = /^tar: .*: Cannot (?:mknod|mkfifo): Operation not permitted$/
const REMARK = /^tar: (?:Exiting with failure status due to previous errors$|Removing leading )/

/**
 * Unpacks an untrusted archive into an empty directory of the staging directory, in a sandbox and within a
 * quota. GNU tar strips leading slashes, refuses names with `..`, and creates links that point outside the
 * directory only after everything else, so that nothing is written through them; the directory is new and
 * contains no other links. Device nodes and FIFOs cannot be created and are left out, because a VM's kernel
 * creates its own.
 *
 * @returns the inode numbers of empty files that represent such nodes under fakeroot
 * @throws BACKEND_ERROR when any other part is refused, or the archive exceeds the quota
 */
export async function unpack(
  archive: string | Readable,
  {
    staging,
    tree,
    owners,
    quota = new Quota(staging),
    progress,
    signal,
  }: {
    readonly staging: string
    readonly tree: string
    readonly owners: Owners
    readonly quota?: Quota
    readonly progress: (message: string) => void
    readonly signal: AbortSignal | undefined
  },
): Promise<{ readonly nodes: readonly number[] }> {
  const stop = AbortSignal.any([quota.signal, ...(signal ? [signal] : [])])
  const attributes = owners.haveAttributes
    ? ['--xattrs', ...ATTRIBUTES.map((name) => `--xattrs-include=${name}`)]
    : []
  const argv = [
    'tar',
    ...'--extract --verbose --quoting-style=escape --warning=no-timestamp'.split(' '),
    ...'--numeric-owner --same-owner --preserve-permissions --file=-'.split(' '),
    ...attributes,
    `--directory=${tree}`,
  ]
  let refused = 0
  const input = quota.counter()
  const tar = runTool(owners.as(argv), {
    what: 'unpacking the image',
    package: 'tar',
    sandbox: conversionSandbox({ writable: [staging] }),
    signal: stop,
    input,
    onLine: (line) => quota.addEntry(line),
    tolerates: (line) => {
      if (REFUSED_NODE.test(line)) refused++
      else return REMARK.test(line)
      return true
    },
  })
  const fed = feed(archive, input, stop)
  await allOf([tar, fed])
  const nodes = owners.forgetNodes()
  refused += nodes.length
  if (refused > 0) progress(`left out device nodes and FIFOs, which VMs create themselves: ${refused}`)
  return { nodes }
}

/**
 * Sends the decompressed archive to tar. When tar stops early, this fails as well, and tar's error has the reason.
 */
async function feed(
  archive: string | Readable,
  input: NodeJS.WritableStream,
  signal: AbortSignal,
): Promise<void> {
  if (typeof archive !== 'string') return pipeline(archive, input, { signal })
  const file = await open(archive, 'r')
  try {
    const head = Buffer.alloc(8)
    await file.read(head, 0, head.length, 0)
    const format = compressionOf(head)
    const content = file.createReadStream({ start: 0, autoClose: false })
    if (format === undefined) return await pipeline(content, input, { signal })
    const out = new PassThrough()
    const decompressing = runTool(DECOMPRESSORS[format], {
      what: 'decompressing the image',
      package: DECOMPRESSORS[format][0],
      sandbox: conversionSandbox({}),
      signal,
      input: content,
      output: out,
      tolerates: (line) => line.endsWith('trailing garbage ignored'),
    })
    await allOf([decompressing, pipeline(out, input, { signal })])
  } finally {
    await file.close()
  }
}

/** Waits for all; throws the first classified error. Others are streams that the same program closed. */
async function allOf(work: readonly Promise<unknown>[]): Promise<void> {
  const failures: unknown[] = []
  await Promise.all(work.map((each) => each.catch((error: unknown) => failures.push(error))))
  if (failures.length > 0) throw failures.find(isFault) ?? failures[0]
}
