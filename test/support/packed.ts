import { basename, join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { packageRoot } from '../../src/lib/process/package.ts'
import { ran } from './installed.ts'
import { makeTempDir } from './temp-dir.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The package as `npm pack` makes it, with this machine's native parts alone. */
    readonly archive: string
  }
}

/** Before all suites of the package: packs it once. */
export default async function setup({ provide }: TestProject): Promise<() => void> {
  const { path, remove } = makeTempDir()
  await ran([join(packageRoot, 'scripts/prepack'), '--from-build'])
  const pack = ['npm', 'pack', '--ignore-scripts', '--json', '--pack-destination', path]
  const said = await ran(pack, { cwd: packageRoot })
  const [packed] = JSON.parse(said) as { filename: string }[]
  provide('archive', join(path, basename(packed?.filename ?? '')))
  return remove
}
