import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { writeFileDurable } from '../../../lib/fs/write-durable.ts'
import type { ClassBytes } from '../../scan/class-bytes.ts'
import {
  type ClassFiles,
  type Decompiled,
  type DecompileWork,
  VINEFLOWER_OPTIONS,
} from './decompile-protocol.ts'
import { writeClasses, readDecompiledText } from './vineflower-archives.ts'

/** Increment when decompiling would produce different text. */
const CACHE_VERSION = 1

/** Services of the parent for the decompiler. */
export interface DecompileServices {
  /** Finds the location of a class that others mention. */
  readonly locate: (name: string) => Promise<string | undefined>
  /** Runs Vineflower in the task's folder; returns the reason if there is no text. */
  readonly runJvm: () => Promise<string | undefined>
}

/**
 * Returns the text of a class with its nested classes: from the cache, else decompiled and cached under the
 * hash of the class files.
 *
 * @throws Error when the class files cannot be read or decompiled
 */
export async function decompileClass(
  task: DecompileWork,
  classes: ClassBytes,
  { locate, runJvm }: DecompileServices,
): Promise<Decompiled> {
  const { location, outermost, vineflower } = task
  const files = new Map<string, Uint8Array>()
  for (const name of classes.namesWithin(location, outermost)) {
    const bytes = classes.read(location, name)
    if (bytes !== undefined) files.set(name, bytes)
  }
  if (!files.has(outermost)) throw new Error(`${location} no longer contains the class ${outermost}`)
  const module = classes.moduleOf(location, outermost) ?? null
  const cached = cacheFile(task, files)
  const cachedText = task.isFresh ? undefined : readIfThere(cached)
  if (cachedText !== undefined) return { text: cachedText, module }
  const text =
    vineflower === undefined
      ? await runPort(outermost, files, classes, locate)
      : await runOnJvm(vineflower.folder, outermost, files, runJvm)
  mkdirSync(dirname(cached), { recursive: true, mode: 0o700 })
  await writeFileDurable(cached, text)
  return { text, module }
}

/** Decompiles with Vineflower as WebAssembly, which writes to the console if it cannot be loaded. */
async function runPort(
  outermost: string,
  files: ClassFiles,
  classes: ClassBytes,
  locate: DecompileServices['locate'],
): Promise<string> {
  const { decompile } = await import('@run-slicer/vf')
  const source = async (name: string): Promise<Uint8Array | null> => {
    const own = files.get(name)
    if (own !== undefined) return own
    const place = await locate(name)
    return (place === undefined ? undefined : classes.read(place, name)) ?? null
  }
  const texts = await decompile([...files.keys()], {
    source,
    options: VINEFLOWER_OPTIONS,
    logger: { writeMessage() {} },
  })
  const text = texts[outermost]
  if (text === undefined || text === '') throw new Error(`the decompiler returned no text for ${outermost}`)
  return text
}

async function runOnJvm(
  folder: string,
  outermost: string,
  files: ClassFiles,
  runJvm: DecompileServices['runJvm'],
): Promise<string> {
  await writeClasses(folder, files)
  const problem = await runJvm()
  if (problem !== undefined) throw new Error(problem)
  return readDecompiledText(folder, outermost)
}

function cacheFile({ cacheDir, vineflower }: DecompileWork, files: ClassFiles): string {
  const hash = createHash('sha256').update(`${CACHE_VERSION} ${toolOf(vineflower)}`)
  for (const [name, bytes] of files) hash.update(`\0${name}\0${bytes.length}\0`).update(bytes)
  const key = hash.digest('hex')
  return join(cacheDir, key.slice(0, 2), `${key}.java`)
}

function toolOf(vineflower: DecompileWork['vineflower']): string {
  if (vineflower === undefined) return 'port'
  const { size, mtimeMs } = statSync(vineflower.jar)
  return `${vineflower.jar} ${size} ${mtimeMs}`
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
