import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A real temporary directory that goes with the test. */
export function tempDir(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'workspace-test-')))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}
