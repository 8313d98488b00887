import { readdirSync } from 'node:fs'
import { join, sep } from 'node:path'
import { readUntrusted } from '../../../lib/fs/read-untrusted.ts'

const MAX_FILES = 1_000
const MAX_BYTES = 2 ** 20

/** A provider in a `META-INF/services` file. */
export interface ServiceProvider {
  /** Name of the file. */
  readonly service: string
  /** Name of the class. */
  readonly provider: string
}

/**
 * Returns the providers in the `META-INF/services` of a class folder, or of Gradle's folder with its
 * resources. Files that cannot be read are skipped: they are the build's, and only hints.
 */
export function readServiceFiles(classFolder: string): readonly ServiceProvider[] {
  return [classFolder, resourcesOf(classFolder)].flatMap((folder) => {
    const services = join(folder, 'META-INF/services')
    return namesIn(services).flatMap((service) =>
      providersIn(join(services, service)).map((provider) => ({ service, provider })),
    )
  })
}

/** "build/classes/java/main" has its resources in "build/resources/main". */
function resourcesOf(classFolder: string): string {
  const parts = classFolder.split(sep)
  if (parts.at(-3) !== 'classes') return join(classFolder, '..', 'resources')
  return join(classFolder, '../../../resources', parts.at(-1) ?? '')
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).toSorted().slice(0, MAX_FILES)
  } catch {
    return []
  }
}

function providersIn(file: string): readonly string[] {
  try {
    return readUntrusted(file, MAX_BYTES)
      .split('\n')
      .map((line) => (line.split('#')[0] ?? '').trim())
      .filter((name) => name !== '')
  } catch {
    return []
  }
}
