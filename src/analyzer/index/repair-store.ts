import { renameSync, rmSync } from 'node:fs'
import { makeDirs } from '../../lib/fs/make-dirs.ts'

/**
 * Ensures that a store can be opened. Moves a damaged one aside and creates another, because it is a cache.
 *
 * @param check rejects when the store is unusable; runs in another process, which a damaged store may kill
 * @param report receives the damage; if it throws, the store is left unchanged
 */
export async function repairStore(
  directory: string,
  check: () => Promise<unknown>,
  report: (error: unknown) => void,
): Promise<void> {
  makeDirs(directory, 0o700)
  try {
    await check()
  } catch (error) {
    report(error)
    setAside(directory)
    makeDirs(directory, 0o700)
    await check()
  }
}

/** Renames the directory of a damaged store to `<directory>.damaged`, replacing a previous one. */
export function setAside(directory: string): void {
  const aside = `${directory}.damaged`
  rmSync(aside, { recursive: true, force: true })
  renameSync(directory, aside)
}
