import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { packageRoot } from '../../src/lib/process/package.ts'

/** Writes test files inside the checkout, where imports find vitest, until the test ends; returns their directory. */
export function testFiles(files: Readonly<Record<string, string>>): string {
  const cache = join(packageRoot, 'node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  const root = mkdtempSync(join(cache, 'test-files-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text)
  return root
}
