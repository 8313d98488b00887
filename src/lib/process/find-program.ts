import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'

/** Returns the path of a program, given as a path or a name in PATH; undefined if it is not executable. */
export async function findProgram(nameOrPath: string): Promise<string | undefined> {
  const places = nameOrPath.includes('/')
    ? [nameOrPath]
    : (process.env['PATH'] ?? '')
        .split(delimiter)
        .filter(isAbsolute)
        .map((directory) => join(directory, nameOrPath))
  for (const place of places) {
    const isThere = await access(place, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isThere) return place
  }
  return undefined
}
