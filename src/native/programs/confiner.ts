import { existsSync } from 'node:fs'
import { builtFiles } from '../load.ts'

/** Program that drops privileges and then executes another (`native/confine/`). */
const CONFINER = 'workspace-confine'

/** Returns the path of the confiner, or undefined if it was not built, as on systems other than Linux. */
export function findConfiner(): string | undefined {
  return builtFiles(CONFINER).find((file) => existsSync(file))
}
