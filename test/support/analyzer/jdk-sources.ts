import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { withArchive } from '../../../src/analyzer/source/archive/archive-entries.ts'
import { readExtent } from '../../../src/analyzer/classpath/read-extent.ts'
import { jdkHome } from './jdk.ts'

/**
 * Extracts the Java files below some folders of the JDK's `src.zip`, without their module, and returns their
 * number.
 */
export function jdkSources(folder: string, below: readonly string[], most = Infinity): number {
  const archive = join(jdkHome(), 'lib/src.zip')
  if (!existsSync(archive))
    throw new Error(`${archive} is missing: scripts/test-tools brings openjdk-17-source`)
  return withArchive(archive, (entries, source) => {
    let count = 0
    for (const { name, extent } of entries.values()) {
      if (count >= most || !name.endsWith('.java') || !below.some((start) => name.startsWith(start))) continue
      const path = join(folder, name.slice(name.indexOf('/') + 1))
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, readExtent(source, extent, 2 ** 23))
      count++
    }
    return count
  })
}
