import { existsSync } from 'node:fs'
import { builtFiles } from '../load.ts'

/** Name of the program that starts others for a guest's agent (`native/start/`). */
const STARTER = 'workspace-start'

/**
 * Returns the path of the starter, or undefined if it was not built because the C library cannot be linked
 * statically.
 */
export function findStarter(): string | undefined {
  return builtFiles(STARTER).find((file) => existsSync(file))
}
