import { existsSync } from 'node:fs'
import { builtFiles } from '../load.ts'

/** Name of the program that runs others inside containers (`native/run/`). */
export const RUNNER = 'workspace-run'

/**
 * Returns the path of the runner, or undefined if it was not built because the C library cannot be linked
 * statically.
 */
export function findRunner(): string | undefined {
  return builtFiles(RUNNER).find((file) => existsSync(file))
}
