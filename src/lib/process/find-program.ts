import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'

/** Where a program is: a path as it is, a name as PATH has it. Undefined where there is none that may be run. */
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
