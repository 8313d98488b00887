import { basename, dirname, sep } from 'node:path'
import { readExtent } from '../../classpath/read-extent.ts'
import { withArchive } from './archive-entries.ts'

/** Maven coordinates of a library. */
export interface MavenCoordinates {
  readonly group: string
  readonly artifact: string
  readonly version: string
}

const MAX_PROPERTIES_BYTES = 2 ** 16
const PROPERTIES = /^META-INF\/maven\/[^/]+\/[^/]+\/pom\.properties$/
const WORD = /^[A-Za-z0-9_.-]+$/

/** Returns a library's Maven coordinates from its path in a local repository, else from its archive. */
export function coordinatesOf(location: string): MavenCoordinates | undefined {
  return fromPath(location) ?? fromArchive(location)
}

function fromArchive(location: string): MavenCoordinates | undefined {
  try {
    return withArchive(location, (entries, source) => {
      const found = [...entries.values()].filter(({ name }) => PROPERTIES.test(name))
      // A jar merged from others has several files, and nothing marks its own.
      const [own] = found.length === 1 ? found : found.filter(({ name }) => isNamedAfter(location, name))
      if (own === undefined) return undefined
      const text = readExtent(source, own.extent, MAX_PROPERTIES_BYTES).toString('utf8')
      const value = (key: string): string =>
        text
          .split(/\r?\n/)
          .find((line) => line.startsWith(`${key}=`))
          ?.slice(key.length + 1)
          .trim() ?? ''
      return checked(value('groupId'), value('artifactId'), value('version'))
    })
  } catch {
    return undefined
  }
}

function isNamedAfter(location: string, properties: string): boolean {
  return basename(location).startsWith(`${properties.split('/').at(-2)}-`)
}

/** "…/com/acme/util/1.0/util-1.0.jar", or Gradle's "…/files-2.1/com.acme/util/1.0/HASH/util-1.0.jar". */
function fromPath(location: string): MavenCoordinates | undefined {
  if (location.includes('!/')) return undefined
  const folders = dirname(location).split(sep)
  const gradle = folders.lastIndexOf('files-2.1')
  if (gradle !== -1) {
    const [group = '', artifact = '', version = ''] = folders.slice(gradle + 1)
    return checked(group, artifact, version)
  }
  const [version = '', artifact = ''] = folders.toReversed()
  const root = folders.lastIndexOf('repository')
  if (root === -1 || !basename(location).startsWith(`${artifact}-${version}`)) return undefined
  return checked(folders.slice(root + 1, -2).join('.'), artifact, version)
}

/** Rejects unusual coordinates because they become parts of paths. */
function checked(group: string, artifact: string, version: string): MavenCoordinates | undefined {
  const isPlain = [...group.split('.'), artifact, version].every(
    (part) => WORD.test(part) && !/^\.+$/.test(part),
  )
  return isPlain ? { group, artifact, version } : undefined
}
