import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of this package, whether the code runs from `src` or from `dist/src`. */
export const packageRoot: string = findRoot(dirname(fileURLToPath(import.meta.url)))

/** The package's version. */
export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as {
    version: string
  }
  return version
}

function findRoot(from: string): string {
  // dist mirrors the checkout but holds no package.json of its own.
  const up = dirname(from)
  try {
    readFileSync(join(from, 'package.json'))
    return from
  } catch {
    if (up === from) throw new Error('package.json is missing above the installed files')
    return findRoot(up)
  }
}
