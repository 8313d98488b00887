import { renameSync, rmSync } from 'node:fs'
import { makeDirs } from '../../lib/fs/make-dirs.ts'

/**
 * Makes the directory of a store that can be opened. One that is damaged is put aside: it can be made again.
 *
 * @param check rejects for a store that cannot be used; in another process, which one that is damaged may end
 * @param tell of the damage; what it throws leaves the store as it is
 */
export async function repairStore(
  directory: string,
  check: () => Promise<unknown>,
  tell: (error: unknown) => void,
): Promise<void> {
  makeDirs(directory, 0o700)
  try {
    await check()
  } catch (error) {
    tell(error)
    setAside(directory)
    makeDirs(directory, 0o700)
    await check()
  }
}

/** Renames the directory of a damaged store to `<directory>.damaged`, in place of the one that has that name. */
export function setAside(directory: string): void {
  const aside = `${directory}.damaged`
  rmSync(aside, { recursive: true, force: true })
  renameSync(directory, aside)
}
