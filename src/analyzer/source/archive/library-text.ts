import { existsSync, globSync } from 'node:fs'
import { join } from 'node:path'
import { readText } from './archive-text.ts'
import type { FoundText, LocalRepositories } from './text-request.ts'
import type { MavenCoordinates } from './maven-coordinates.ts'

/** Searches the source archive next to a library, then those that Maven or Gradle downloaded. */
export function findLibraryText(
  location: string,
  coordinates: MavenCoordinates | undefined,
  repositories: LocalRepositories,
  names: readonly string[],
): FoundText | undefined {
  for (const archive of [...sourceArchivesBeside(location), ...inRepositories(coordinates, repositories)]) {
    if (!existsSync(archive)) continue
    const found = readIfWhole(archive, names)
    if (found !== undefined) return { ...found, origin: 'SOURCE_JAR', module: null }
  }
  return undefined
}

/** Ignores unreadable archives: others may have the text. */
function readIfWhole(archive: string, names: readonly string[]) {
  try {
    return readText(archive, names)
  } catch {
    return undefined
  }
}

/** Returns the possible source archives next to a library. */
export function sourceArchivesBeside(location: string): readonly string[] {
  if (location.includes('!/') || !location.endsWith('.jar')) return []
  const name = location.slice(0, -'.jar'.length)
  return [`${name}-sources.jar`, `${name}-src.jar`]
}

function inRepositories(
  coordinates: MavenCoordinates | undefined,
  { maven, gradle }: LocalRepositories,
): readonly string[] {
  if (coordinates === undefined) return []
  const { group, artifact, version } = coordinates
  const file = `${artifact}-${version}-sources.jar`
  // Gradle stores each file of an artifact in a folder named after its hash.
  const modules = join(gradle, 'modules-2/files-2.1', group, artifact, version)
  return [
    join(maven, ...group.split('.'), artifact, version, file),
    ...(existsSync(modules)
      ? globSync(`*/${file}`, { cwd: modules }).map((each) => join(modules, each))
      : []),
  ]
}
