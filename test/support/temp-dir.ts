import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A real temporary directory that goes with the test. */
export function tempDir(): string {
  const { path, remove } = makeTempDir()
  onTestFinished(remove)
  return path
}

/** A real temporary directory that whoever made it removes. */
export function makeTempDir(): { readonly path: string; readonly remove: () => void } {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'workspace-test-')))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}
