import { existsSync } from 'node:fs'
import { builtFiles } from '../load.ts'

/** What the program is called that runs others inside containers (`native/run/`). */
export const RUNNER = 'workspace-run'

/** Where it is; undefined where it was not built, which is where the C library cannot be linked into a program. */
export function findRunner(): string | undefined {
  return builtFiles(RUNNER).find((file) => existsSync(file))
}
