import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { type Confinement, isBelow } from '../lib/sandbox/confine.ts'
import { findJvm } from './project/find-jvm.ts'

const GIB = 2 ** 30

/** Where a project's classes come from and where what is made of them is kept. */
export interface ReadLocations {
  readonly root: string
  readonly cacheDir: string
  readonly jvmHome: string | undefined
}

/** Directory of the index in the cache directory. */
export const storeDirIn = (cacheDir: string): string => join(cacheDir, 'slices')

/** Directory of the decompiled texts in the cache directory. */
export const textsDirIn = (cacheDir: string): string => join(cacheDir, 'decompiled')

/** Directories in which build tools keep what they have fetched. */
export function localRepositories(home = homedir()): { readonly maven: string; readonly gradle: string } {
  return { maven: join(home, '.m2/repository'), gradle: join(home, '.gradle/caches') }
}

/** Confinement of the process that reads archives and class files into the index. */
export function scanConfinement(places: ReadLocations, beside: readonly string[] = []): Confinement {
  return {
    readable: readableOf(places, beside),
    writable: [storeDirIn(places.cacheDir)],
    limits: { dataBytes: 1.5 * GIB, fileBytes: 16 * GIB, cpuSeconds: 600, openFiles: 256 },
  }
}

/** Confinement of the process that finds and parses source texts. */
export function textConfinement(places: ReadLocations, beside: readonly string[]): Confinement {
  return {
    readable: readableOf(places, beside),
    writable: [],
    limits: { dataBytes: 2 * GIB, fileBytes: GIB, cpuSeconds: 3_600, openFiles: 256 },
  }
}

/** Confinement of the decompiler. `memoryLimitBytes` is for what it makes of class files. */
export function decompilerConfinement(
  places: ReadLocations,
  beside: readonly string[],
  memoryLimitBytes: number,
): Confinement {
  return {
    readable: readableOf(places, beside),
    writable: [textsDirIn(places.cacheDir)],
    // Node itself reserves 1.2 GiB, and holds what it has compiled of the decompiler.
    limits: {
      dataBytes: memoryLimitBytes + 2.5 * GIB,
      fileBytes: GIB,
      cpuSeconds: 3_600,
      openFiles: 256,
    },
  }
}

/** Confinement of a JVM that decompiles from one archive of a folder into another. */
export function vineflowerConfinement(
  { home, jar }: { readonly home: string; readonly jar: string },
  folder: string,
  { memoryLimitBytes, timeLimitMs }: { readonly memoryLimitBytes: number; readonly timeLimitMs: number },
): Confinement {
  return {
    readable: [home, jar, ...jvmConfigDirs()],
    writable: [folder],
    limits: {
      dataBytes: memoryLimitBytes + 2 * GIB,
      fileBytes: GIB / 4,
      cpuSeconds: Math.ceil(timeLimitMs / 1_000) * 16,
      openFiles: 4_096,
    },
  }
}

/** Confinement of the process that compares two builds. */
export function diffConfinement(builds: readonly string[], jvmHome: string | undefined): Confinement {
  return {
    readable: [...builds, ...(jvmHome === undefined ? [] : [jvmHome])],
    writable: [],
    limits: { dataBytes: 4 * GIB, fileBytes: GIB, cpuSeconds: 3_600, openFiles: 256 },
  }
}

/** @param beside files and directories of the class path, of which those elsewhere are added */
function readableOf({ root, jvmHome }: ReadLocations, beside: readonly string[]): readonly string[] {
  const jvm = findJvm(jvmHome, process.env)
  const usual = [root, ...Object.values(localRepositories()), ...(jvm === undefined ? [] : [jvm.home])]
  const resolved = usual.map((path) => realpathOf(path) ?? path)
  const isElsewhere = (path: string): boolean => {
    if (!isBelow(path, usual)) return true
    // A link in a usual place may lead elsewhere.
    const real = realpathOf(path)
    return real !== undefined && !isBelow(real, resolved)
  }
  return [...usual, ...new Set(beside.filter(isElsewhere))]
}

/** Returns undefined for a path that does not exist. */
function realpathOf(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

/** Distributions keep a JVM's settings apart from it, as /etc/java-17-openjdk. */
function jvmConfigDirs(): readonly string[] {
  if (!existsSync('/etc')) return []
  return readdirSync('/etc')
    .filter((name) => name.startsWith('java'))
    .map((name) => join('/etc', name))
}
