import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { withFile } from '../classpath/byte-source.ts'
import { readZipDirectory } from '../classpath/zip-directory.ts'

/** Task to list what archives register. */
export interface ListServicesTask {
  /** Archives or class folders. */
  readonly paths: readonly string[]
}

/** Names per archive: a reader needs a few, and a crafted archive has many. */
const MAX_NAMES = 20
const REGISTRATION = /^META-INF\/(?:services\/([^/]+)|(spring\.factories|spring\/[^/]+\.imports))$/

/**
 * Returns the services that each archive or class folder provides in `META-INF/services`, and its files that
 * register classes with Spring; none if it cannot be read.
 */
export function listServices({ paths }: ListServicesTask): readonly (readonly string[])[] {
  return paths.map((path) => {
    try {
      const isFolder = statSync(path).isDirectory()
      const names = isFolder ? readdirSync(join(path, 'META-INF/services')) : servicesIn(path)
      return names.toSorted().slice(0, MAX_NAMES)
    } catch {
      return []
    }
  })
}

function servicesIn(archive: string): readonly string[] {
  const entries = withFile(archive, (source) => readZipDirectory(source, (name) => !REGISTRATION.test(name)))
  return entries.flatMap(({ name }) => {
    const [, service, file] = REGISTRATION.exec(name) ?? []
    return service ?? file ?? []
  })
}
