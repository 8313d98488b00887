import { existsSync } from 'node:fs'
import { builtFiles } from '../load.ts'

/** What the program is called that a guest's agent starts others with (`native/start/`). */
const STARTER = 'workspace-start'

/** Where it is; undefined where it was not built, which is where the C library cannot be linked into a program. */
export function findStarter(): string | undefined {
  return builtFiles(STARTER).find((file) => existsSync(file))
}
