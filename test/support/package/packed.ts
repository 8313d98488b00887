import { cpSync, existsSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { ran } from './installed.ts'
import { makeTempDir } from '../temp-dir.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The package as created by `npm pack`, with native parts only for this machine. */
    readonly archive: string
  }
}

/** Generated or installed files, which are rebuilt in a copy or shared with it. */
const MADE = ['.git', 'dist', 'prebuilds']
const SHARED = ['.node', 'build', 'node_modules']

/** Global setup of the package suites: packs a copy once, so that concurrent suites keep their build. */
export default async function setup({ provide }: TestProject): Promise<() => void> {
  const { path, remove } = makeTempDir()
  const copy = join(path, 'checkout')
  const left = new Set([...MADE, ...SHARED].map((name) => join(packageRoot, name)))
  cpSync(packageRoot, copy, { recursive: true, verbatimSymlinks: true, filter: (from) => !left.has(from) })
  for (const name of SHARED.filter((each) => existsSync(join(packageRoot, each))))
    symlinkSync(join(packageRoot, name), join(copy, name))
  await ran([join(copy, 'scripts/prepack'), '--from-build'])
  const pack = ['npm', 'pack', '--ignore-scripts', '--json', '--pack-destination', path]
  const said = await ran(pack, { cwd: copy })
  const [packed] = JSON.parse(said) as { filename: string }[]
  provide('archive', join(path, basename(packed?.filename ?? '')))
  return remove
}
