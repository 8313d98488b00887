import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, onTestFinished } from 'vitest'

/** Creates a temporary directory that is deleted with the test. */
export function tempDir(): string {
  const { path, remove } = makeTempDir()
  onTestFinished(remove)
  return path
}

/** A temporary directory of the tests of a suite. It exists only if they run: hooks of a suite left out do not. */
export function suiteDir(): { readonly path: string } {
  let path = ''
  beforeAll(() => {
    const made = makeTempDir()
    path = made.path
    return made.remove
  })
  return {
    get path() {
      return path
    },
  }
}

/** Creates a temporary directory that the caller must delete. */
export function makeTempDir(): { readonly path: string; readonly remove: () => void } {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'workspace-test-')))
  return {
    path,
    remove() {
      // Node.js 24 ends a removal silently when a file vanishes meanwhile, such as the socket of a program that exits.
      do rmSync(path, { recursive: true, force: true })
      while (existsSync(path))
    },
  }
}
