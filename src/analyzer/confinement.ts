import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { type Confinement, isBelow } from '../lib/sandbox/confine.ts'
import { findJvm } from './project/find-jvm.ts'

const GIB = 2 ** 30

/** Locations that a scan reads from and writes to. */
export interface ReadLocations {
  readonly root: string
  readonly cacheDir: string
  readonly jvmHome: string | undefined
}

/** Returns the directory of the index in the cache directory. */
export const storeDirIn = (cacheDir: string): string => join(cacheDir, 'slices')

/** Returns the directory of decompiled sources in the cache directory. */
export const textsDirIn = (cacheDir: string): string => join(cacheDir, 'decompiled')

/** Returns the directories where build tools cache what they downloaded. */
export function localRepositories(home = homedir()): { readonly maven: string; readonly gradle: string } {
  return { maven: join(home, '.m2/repository'), gradle: join(home, '.gradle/caches') }
}

/** Returns the confinement of the process that reads archives and class files into the index. */
export function scanConfinement(places: ReadLocations, beside: readonly string[] = []): Confinement {
  return {
    readable: readableOf(places, beside),
    writable: [storeDirIn(places.cacheDir)],
    limits: { dataBytes: 1.5 * GIB, fileBytes: 16 * GIB, cpuSeconds: 600, openFiles: 256 },
  }
}

/** Returns the confinement of the process that finds and parses source files. */
export function textConfinement(places: ReadLocations, beside: readonly string[]): Confinement {
  return {
    readable: readableOf(places, beside),
    writable: [],
    limits: { dataBytes: 2 * GIB, fileBytes: GIB, cpuSeconds: 3_600, openFiles: 256 },
  }
}

/**
 * Returns the confinement of the decompiler. `memoryLimitBytes` is for the data it derives from class files.
 */
export function decompilerConfinement(
  places: ReadLocations,
  beside: readonly string[],
  memoryLimitBytes: number,
): Confinement {
  return {
    readable: readableOf(places, beside),
    writable: [textsDirIn(places.cacheDir)],
    // Node.js itself reserves 1.2 GiB, and the compiled decompiler needs memory too.
    limits: {
      dataBytes: memoryLimitBytes + 2.5 * GIB,
      fileBytes: GIB,
      cpuSeconds: 3_600,
      openFiles: 256,
    },
  }
}

/** Returns the confinement of a JVM that decompiles one archive of a folder into another. */
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

/** Returns the confinement of the process that compares two builds. */
export function diffConfinement(builds: readonly string[], jvmHome: string | undefined): Confinement {
  return {
    readable: [...builds, ...(jvmHome === undefined ? [] : [jvmHome])],
    writable: [],
    limits: { dataBytes: 4 * GIB, fileBytes: GIB, cpuSeconds: 3_600, openFiles: 256 },
  }
}

/** @param beside files and directories of the class path; those outside the usual locations are added */
function readableOf({ root, jvmHome }: ReadLocations, beside: readonly string[]): readonly string[] {
  const jvm = findJvm(jvmHome, process.env)
  const usual = [root, ...Object.values(localRepositories()), ...(jvm === undefined ? [] : [jvm.home])]
  const resolved = usual.map((path) => realpathOf(path) ?? path)
  const isElsewhere = (path: string): boolean => {
    if (!isBelow(path, usual)) return true
    // A link in a usual location may point elsewhere.
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

/**
 * Returns the directories where Linux distributions keep the settings of a JVM, such as /etc/java-17-openjdk.
 */
function jvmConfigDirs(): readonly string[] {
  if (!existsSync('/etc')) return []
  return readdirSync('/etc')
    .filter((name) => name.startsWith('java'))
    .map((name) => join('/etc', name))
}
