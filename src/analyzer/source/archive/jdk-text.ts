import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readText } from './archive-text.ts'
import type { FoundText } from './class-text.ts'

/** Looks in the `src.zip` of the JDK that an image or a `rt.jar` belongs to. */
export function findJdkText(location: string, names: readonly string[]): FoundText | undefined {
  const archive = sourceArchiveOf(location)
  if (archive === undefined) return undefined
  const found = readText(archive, names)
  if (found === undefined) return undefined
  const [name = ''] = names.filter((each) => found.entry.endsWith(each))
  const module = found.entry.slice(0, -name.length - 1)
  return { ...found, origin: 'JDK_SOURCE', module: module === '' ? null : module }
}

/** It lies in `lib`, up to Java 8 beside it; where the sources are not installed it may be a link to nothing. */
function sourceArchiveOf(location: string): string | undefined {
  let folder = dirname(location)
  for (let level = 0; level < 3; level++) {
    const archive = join(folder, 'src.zip')
    if (existsSync(archive)) return archive
    folder = dirname(folder)
  }
  return undefined
}
