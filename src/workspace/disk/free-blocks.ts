import { run } from '../../lib/process/run.ts'
import { toolEnvironment } from '../../lib/process/tool-environment.ts'
import type { FileRange } from '../../native/files/deallocate.ts'

const CHECK_MS = 600_000

/**
 * Returns the unused ranges of a file that contains an ext4 file system. First, e2fsck(8) must find the whole
 * file system clean, including its bitmaps, and the journal must be empty. Nothing is written.
 *
 * @throws Error with the reason when the ranges cannot be determined
 */
export async function findFreeStretches(file: string, signal: AbortSignal): Promise<readonly FileRange[]> {
  const options = { environment: toolEnvironment(), timeoutMs: CHECK_MS, signal }
  const { status, stdout, stderr } = await runTool('dumpe2fs', ['--', file], options)
  if (status !== 0) throw new Error(`dumpe2fs cannot read it (${lastLine(stderr)})`)
  const header = (name: string): string =>
    new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(stdout)?.[1]?.trim() ?? ''
  const features = header('Filesystem features').split(/\s+/)
  if (header('Filesystem state') !== 'clean' || features.includes('needs_recovery'))
    throw new Error('it was not unmounted cleanly; start and stop the workspace once')
  // dumpe2fs reports clusters in other units.
  if (features.includes('bigalloc')) throw new Error('its file system has clusters (bigalloc)')
  const check = await runTool('e2fsck', ['-f', '-n', '--', file], options)
  if (check.status !== 0)
    throw new Error(`e2fsck reports errors (${lastLine(check.stdout) || lastLine(check.stderr)})`)
  const [blockBytes, blocks] = [Number(header('Block size')), Number(header('Block count'))]
  if (!(blockBytes >= 1024) || !(blocks > 0)) throw new Error('dumpe2fs does not report its block size')
  return parseFreeBlocks(stdout, blocks).map(([first, last]) => ({
    offset: first * blockBytes,
    bytes: (last - first + 1) * blockBytes,
  }))
}

/**
 * Parses pairs of first and last block from dumpe2fs(8) lines such as `  Free blocks: 9-15, 20, 32768-40000`.
 */
function parseFreeBlocks(dump: string, blocks: number): readonly (readonly [number, number])[] {
  const stretches: [number, number][] = []
  for (const [, list = ''] of dump.matchAll(/^ {2}Free blocks: (.*)$/gm)) {
    for (const range of list.split(',').map((each) => each.trim())) {
      if (range === '') continue
      const match = /^(\d+)(?:-(\d+))?$/.exec(range)
      const first = Number(match?.[1] ?? Number.NaN)
      const last = Number(match?.[2] ?? match?.[1] ?? Number.NaN)
      if (!(first <= last) || last >= blocks) throw new Error(`dumpe2fs reports invalid free blocks ${range}`)
      const before = stretches.at(-1)
      if (before !== undefined && before[1] + 1 === first) before[1] = last
      else stretches.push([first, last])
    }
  }
  return stretches
}

async function runTool(program: string, argv: readonly string[], options: Parameters<typeof run>[2]) {
  try {
    return await run(program, argv, options)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new Error(`${program} is not installed; install e2fsprogs`, { cause: error })
  }
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? ''
}
