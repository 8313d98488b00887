import { existsSync } from 'node:fs'
import { builtFiles } from '../load.ts'

/** The program between a virtual machine and its user-mode network (`native/net-filter/`). */
const NET_FILTER = 'workspace-net-filter'

/** Returns its path; undefined where it was not built. */
export function findNetFilter(): string | undefined {
  return builtFiles(NET_FILTER).find((file) => existsSync(file))
}
