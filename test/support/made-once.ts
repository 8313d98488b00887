import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../src/lib/process/package.ts'

const cache = join(packageRoot, 'node_modules/.cache/tests')

/**
 * Returns a folder that is built from its inputs once for all test processes and runs. Tests only read it.
 *
 * @param inputs everything that the output of `make` depends on
 */
export function madeOnce(
  name: string,
  inputs: readonly (string | Buffer)[],
  make: (folder: string) => void,
): string {
  const hash = createHash('sha256')
  for (const input of inputs) hash.update(`${input.length} `).update(input)
  const folder = join(cache, `${name}-${hash.digest('hex').slice(0, 16)}`)
  if (existsSync(folder)) return folder
  mkdirSync(cache, { recursive: true })
  const own = mkdtempSync(`${folder}.`)
  try {
    make(own)
    renameSync(own, folder)
  } catch (error) {
    rmSync(own, { recursive: true, force: true })
    // Another process was faster.
    if (!existsSync(folder)) throw error
  }
  return folder
}
