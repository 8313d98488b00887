import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Creates a temporary directory that is deleted with the test. */
export function tempDir(): string {
  const { path, remove } = makeTempDir()
  onTestFinished(remove)
  return path
}

/** Creates a temporary directory that the caller must delete. */
export function makeTempDir(): { readonly path: string; readonly remove: () => void } {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'workspace-test-')))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}
