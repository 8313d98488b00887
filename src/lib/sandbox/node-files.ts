import { existsSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { packageRoot } from '../process/package.ts'

/** Returns the files that Node needs for a module of this package: itself, the package and its dependencies. */
export function nodeFiles(): readonly string[] {
  const found = [realpathSync(process.execPath), packageRoot]
  for (let above = dirname(packageRoot); above !== '/'; above = dirname(above))
    if (existsSync(join(above, 'node_modules'))) found.push(join(above, 'node_modules'))
  return found
}
