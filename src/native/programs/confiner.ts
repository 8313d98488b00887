import { existsSync } from 'node:fs'
import { builtFiles } from '../load.ts'

/** The program that gives up rights and then becomes another (`native/confine/`). */
const CONFINER = 'workspace-confine'

/** Returns its path; undefined where it was not built, as on systems other than Linux. */
export function findConfiner(): string | undefined {
  return builtFiles(CONFINER).find((file) => existsSync(file))
}
