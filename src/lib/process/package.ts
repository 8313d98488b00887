import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Root folder of this package, for code that runs from `src` or from `dist/src`. */
export const packageRoot: string = findRoot(dirname(fileURLToPath(import.meta.url)))

/** Returns the package's version. */
export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as {
    version: string
  }
  return version
}

function findRoot(from: string): string {
  // dist mirrors the checkout but has no package.json.
  const up = dirname(from)
  try {
    readFileSync(join(from, 'package.json'))
    return from
  } catch {
    if (up === from) throw new Error('package.json is missing above the installed files')
    return findRoot(up)
  }
}
