import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from '../../lib/process/run.ts'
import { withArchive } from './archive-entries.ts'
import type { ClassFiles, VineflowerCommand } from './decompile-protocol.ts'
import { readExtent } from '../classpath/read-extent.ts'
import { decodeSource, MAX_SOURCE_BYTES } from './source-text.ts'
import { storedArchive } from './stored-archive.ts'

/**
 * Decompiles by a Vineflower jar on a JVM. Class files are given in an archive, and the text comes in one, so that no name
 * in a class file becomes a path.
 *
 * @throws Error with a sentence when it cannot be run, takes too long or gives no text
 */
export async function runVineflower(
  { java, jar, memoryMb, timeoutMs }: VineflowerCommand,
  outermost: string,
  files: ClassFiles,
  options: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'analyzer-vineflower-'))
  try {
    const [given, out] = [join(folder, 'in.jar'), join(folder, 'out.jar')]
    await writeFile(
      given,
      storedArchive(new Map([...files].map(([name, bytes]) => [`${name}.class`, bytes]))),
    )
    const chosen = Object.entries(options).map(([name, value]) => `--${name}=${value}`)
    const argv = [`-Xmx${memoryMb}m`, '-jar', jar, '--silent', ...chosen, given, out]
    const { status, stderr } = await run(java, argv, { timeoutMs, signal, cwd: folder })
    if (status === null) throw new Error(`Vineflower took longer than ${timeoutMs / 1_000} s`)
    if (status !== 0)
      throw new Error(`Vineflower ended with status ${status}: ${stderr.trim().slice(0, 500)}`)
    return textIn(out, outermost)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function textIn(archive: string, outermost: string): string {
  return withArchive(archive, (entries, source) => {
    const entry = entries.get(`${outermost}.java`)
    if (entry === undefined) throw new Error(`Vineflower gave no text for ${outermost}`)
    return decodeSource(readExtent(source, entry.extent, MAX_SOURCE_BYTES))
  })
}
