import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { parseJson } from '../../lib/schema/parse-json.ts'
import { Type } from '../../lib/schema/type.ts'

/** Bytes of the end of a file in which its last entry is sought; an entry has at most 4 KiB. */
const TAIL_BYTES = 64 * 1024
const CHAIN = /^(\{.*),"chain":"([0-9a-f]{64})"\}$/

/** The chain before the first entry. */
const GENESIS = ''

/** Appends to an entry the digest of it and of the chain before it. @param entry a JSON object of one line */
export function link(previous: string, entry: string): { readonly line: string; readonly chain: string } {
  const chain = createHash('sha256').update(`${previous}\n${entry}`).digest('hex')
  return { line: `${entry.slice(0, -1)},"chain":"${chain}"}`, chain }
}

/** Returns an entry and its chain; undefined for a line without one. */
function parse(line: string): { readonly entry: string; readonly chain: string } | undefined {
  const [, start, chain] = CHAIN.exec(line) ?? []
  return start === undefined || chain === undefined ? undefined : { entry: `${start}}`, chain }
}

/** The end of a file of entries. */
export interface FileEnd {
  /** The chain after its last complete entry. */
  readonly chain: string
  /** Whether its last line is incomplete, because a write was interrupted. */
  readonly isBroken: boolean
}

/** Reads the end of a file of entries. */
export async function readEnd(file: string): Promise<FileEnd> {
  const handle = await open(file, 'r')
  try {
    const text = await readTail(handle)
    const lines = text.split('\n')
    const last = lines.findLast((line, index) => index < lines.length - 1 && parse(line) !== undefined)
    return { chain: parse(last ?? '')?.chain ?? GENESIS, isBroken: text !== '' && !text.endsWith('\n') }
  } finally {
    await handle.close()
  }
}

async function readTail(handle: FileHandle): Promise<string> {
  const { size } = await handle.stat()
  const start = Math.max(0, size - TAIL_BYTES)
  const buffer = Buffer.alloc(size - start)
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, start)
  return buffer.toString('utf8', 0, bytesRead)
}

/** Result of a check of entries. */
export interface ChainReport {
  readonly entries: number
  /** Entries from before the log had chains. */
  readonly unchained: number
  /** Lines that are no entry: remains of interrupted writes, which hide nothing. */
  readonly incomplete: number
  /** The chain after the last entry. */
  readonly head: string
  /** Lines, as `FILE:LINE`, where entries were changed, removed, inserted or reordered. */
  readonly damaged: readonly string[]
  /** Whether the first entry continues earlier ones, which were not given; it cannot be checked then. */
  readonly isContinued: boolean
  /** Lines at which a file does not continue the one before it: the server had started with an empty file. */
  readonly restarts: readonly string[]
  /** Whether the wanted head was found; undefined if none was given. */
  readonly hasHead: boolean | undefined
}

const anyEntry = Type.Object({ time: Type.String() })

/**
 * Checks the entries of rotated files, the oldest first. The first entry of the first file may continue earlier files.
 *
 * @param wantedHead a head that an earlier check returned
 */
export async function verifyChain(
  files: readonly { readonly name: string; readonly lines: AsyncIterable<string> }[],
  wantedHead?: string,
): Promise<ChainReport> {
  const [damaged, restarts]: [string[], string[]] = [[], []]
  let [entries, unchained, incomplete, hasHead] = [0, 0, 0, false]
  let isContinued = false
  let head: string | undefined
  for (const { name, lines } of files) {
    let number = 0
    let isFirst = true
    for await (const line of lines) {
      number += 1
      const where = `${name}:${number}`
      const found = parse(line)
      if (found === undefined || parseJson(anyEntry, found.entry) === undefined) {
        const isOld = parseJson(anyEntry, line) !== undefined
        if (!isOld) incomplete += 1
        else if (head === undefined) unchained += 1
        else damaged.push(where)
        continue
      }
      entries += 1
      const { entry, chain } = found
      const isLinked = link(head ?? GENESIS, entry).chain === chain
      if (!isLinked && isFirst && link(GENESIS, entry).chain === chain) restarts.push(where)
      else if (!isLinked && head !== undefined) damaged.push(where)
      else if (!isLinked) isContinued = true
      isFirst = false
      head = chain
      hasHead ||= chain === wantedHead
    }
  }
  return {
    entries,
    unchained,
    incomplete,
    head: head ?? GENESIS,
    damaged,
    isContinued,
    restarts,
    hasHead: wantedHead === undefined ? undefined : hasHead,
  }
}
