import { open } from 'node:fs/promises'
import { PassThrough, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { isFault } from '../../../lib/errors/fault.ts'
import { cage } from './cage.ts'
import { compressionOf, DECOMPRESSORS } from './decompress.ts'
import type { Owners } from './owners.ts'
import { Quota } from './quota.ts'
import { runTool } from './tool.ts'

/** Extended attributes that mean something in a VM and can be set without CAP_SYS_ADMIN. */
const ATTRIBUTES = ['user.*', 'security.capability', 'system.posix_acl_*'] as const
/** What tar says of nodes that it is not permitted to make. It writes names so that none contains a line break. */
const REFUSED_NODE = /^tar: .*: Cannot (?:mknod|mkfifo): Operation not permitted$/
const REMARK = /^tar: (?:Exiting with failure status due to previous errors$|Removing leading )/

/**
 * Unpacks an archive that nobody vouches for into an empty directory of the staging directory, in a sandbox that sees nothing else, and within a quota. GNU tar takes
 * leading slashes away, refuses names with `..` in them, and makes links that lead out of the directory only after everything else, so that nothing is written
 * through them; as the directory is new, there are no others. Device nodes and FIFOs cannot be made there: they are left out, as a VM's kernel makes its own.
 *
 * @returns the inode numbers of empty files that stand for such nodes, where fakeroot makes them
 * @throws BACKEND_ERROR also for an archive of which another part was refused, or which exceeds the quota
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
    sandbox: cage({ writable: [staging] }),
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

/** Sends the archive, decompressed, to tar. What ends tar early ends this too, and says more. */
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
      sandbox: cage({}),
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

/** Waits for all; throws the first fault. What failed before it is a stream that the same program has closed. */
async function allOf(work: readonly Promise<unknown>[]): Promise<void> {
  const failures: unknown[] = []
  await Promise.all(work.map((each) => each.catch((error: unknown) => failures.push(error))))
  if (failures.length > 0) throw failures.find(isFault) ?? failures[0]
}
